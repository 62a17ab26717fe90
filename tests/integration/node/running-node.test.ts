import { describe, expect, test } from "bun:test";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  findNodes,
  type NodeRecord,
  type Processes,
  type ReloadOutcome,
  RunningNode,
  type RunningNodeOptions,
  recordPath,
  requestReload,
} from "../../../src/node/running-node.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { tempDir } from "../../support/temp-dir.ts";

const outcome: ReloadOutcome = { changed: ["log_level"], needsRestart: [] };

/** A machine whose processes hear SIGHUP; a process that is not named here is not there. */
function machine(...ids: number[]) {
  const heard = new Map<number, () => void>();
  const as = (id: number): Processes => ({
    id,
    startOf: (other) => (ids.includes(other) ? `start of ${other}` : undefined),
    hangUp: (other) => heard.get(other)?.(),
  });
  const onHangup = (id: number) => (hear: () => void) => {
    heard.set(id, hear);
    return { [Symbol.dispose]: () => void heard.delete(id) };
  };
  const announce = (dataDir: string, id: number, options: Partial<RunningNodeOptions> = {}) =>
    RunningNode.announce({
      dataDir,
      processes: as(id),
      onHangup: onHangup(id),
      address: `http://node-${id}`,
      config: "/etc/paddock.toml",
      reload: async () => outcome,
      log: recordingLog().log,
      ...options,
    });
  return { as, announce, heard };
}

const within = { withinMs: 60_000, signal: new AbortController().signal };
const addresses = (records: readonly NodeRecord[]) => records.map(({ address }) => address).sort();

async function onlyNode(dataDir: string, processes: Processes): Promise<NodeRecord> {
  const [record] = (await findNodes(dataDir, processes)).here;
  if (record === undefined) throw new Error("No record");
  return record;
}

describe("a running node in its data dir", () => {
  test("is found from its start to its end", async () => {
    await using folder = await tempDir();
    const dataDir = join(folder.path, "data");
    const { as, announce, heard } = machine(7, 8);
    const before = await findNodes(dataDir, as(8));
    const node = await announce(dataDir, 7);
    const during = await findNodes(dataDir, as(8));
    expect(heard.size).toBe(1);
    await node[Symbol.asyncDispose]();
    const none = { here: [], onOtherHosts: [] };
    const record = {
      id: expect.any(String),
      pid: 7,
      processStart: "start of 7",
      host: hostname(),
      startedAt: expect.any(String),
      address: "http://node-7",
      config: "/etc/paddock.toml",
    };
    expect([before, during, await findNodes(dataDir, as(8))]).toEqual([
      none,
      { here: [record], onOtherHosts: [] },
      none,
    ]);
    expect(await readdir(join(dataDir, "nodes"))).toEqual([]);
    expect(heard.size).toBe(0);
  });

  test("answers several requests at once, one reload after another", async () => {
    await using folder = await tempDir();
    const { as, announce } = machine(7, 8);
    let running = 0;
    let most = 0;
    const reload = async (): Promise<ReloadOutcome> => {
      most = Math.max(most, ++running);
      await Bun.sleep(5);
      running--;
      return outcome;
    };
    await using node = await announce(folder.path, 7, { reload });
    const record = await onlyNode(folder.path, as(8));
    const options = { ...within, processes: as(8) };
    const requests = Array.from({ length: 4 }, () => requestReload(folder.path, record, options));
    await Promise.all([node.reload(), node.reload()]);
    for (const found of await Promise.all(requests)) expect(found).toMatchObject(outcome);
    expect(most).toBe(1);
  });

  test("does not answer with a reload that began before the request", async () => {
    await using folder = await tempDir();
    const { as, announce } = machine(7, 8);
    const first = Promise.withResolvers<ReloadOutcome>();
    const outcomes = [first.promise, Promise.resolve(outcome)];
    const reload = async () => (await outcomes.shift()) ?? outcome;
    await using node = await announce(folder.path, 7, { reload });
    const record = await onlyNode(folder.path, as(8));
    const early = node.reload();
    await Bun.sleep(5);
    const request = requestReload(folder.path, record, { ...within, processes: as(8) });
    first.resolve({ changed: [], needsRestart: [] });
    await early;
    expect(await request).toMatchObject(outcome);
  });

  test("shares the data dir with others, and reloads only by its own signal", async () => {
    await using folder = await tempDir();
    const { as, announce } = machine(7, 8, 9);
    const reloaded: number[] = [];
    const counted = (id: number) =>
      announce(folder.path, id, {
        reload: async () => {
          reloaded.push(id);
          return outcome;
        },
      });
    await using _one = await counted(7);
    await using _two = await counted(8);
    const { here } = await findNodes(folder.path, as(9));
    const two = here.find(({ pid }) => pid === 8);
    if (two === undefined) throw new Error("No record");
    await requestReload(folder.path, two, { ...within, processes: as(9) });
    expect([here.length, reloaded]).toEqual([2, [8]]);
  });

  test("is not waited for longer than wanted, and not at all once it has stopped", async () => {
    await using folder = await tempDir();
    const { as, announce } = machine(7, 8);
    const silent: Processes = { ...as(8), hangUp: () => {} };
    const node = await announce(folder.path, 7);
    const record = await onlyNode(folder.path, silent);
    const soon = { ...within, withinMs: 10, processes: silent };
    expect(await requestReload(folder.path, record, soon)).toBeUndefined();
    await node[Symbol.asyncDispose]();
    const patient = { ...within, processes: silent };
    expect(await requestReload(folder.path, record, patient)).toBeUndefined();
    const hangUp = (): void => {
      throw Object.assign(new Error("kill() failed"), { code: "ESRCH" });
    };
    const gone = { ...within, processes: { ...as(8), hangUp } };
    expect(await requestReload(folder.path, record, gone)).toBeUndefined();
  });

  test("forgets one that was killed when it starts, and no other", async () => {
    await using folder = await tempDir();
    // Neither is disposed: that is what a kill looks like.
    await machine(7).announce(folder.path, 7);
    await machine(8).announce(folder.path, 8);
    const { as, announce } = machine(8, 9);
    await using _ = await announce(folder.path, 9);
    const { here } = await findNodes(folder.path, as(9));
    expect(addresses(here)).toEqual(["http://node-8", "http://node-9"]);
  });

  test("is not mistaken for a later process with its id", async () => {
    await using folder = await tempDir();
    await machine(7).announce(folder.path, 7);
    const later: Processes = { ...machine(7, 8).as(8), startOf: () => "a later start" };
    expect(await findNodes(folder.path, later)).toEqual({ here: [], onOtherHosts: [] });
    expect(await readdir(join(folder.path, "nodes"))).toEqual([]);
  });

  test("of another host is named and left alone", async () => {
    await using folder = await tempDir();
    const { as, announce } = machine(7, 8);
    await announce(folder.path, 7);
    const record = await onlyNode(folder.path, as(8));
    await writeFile(
      recordPath(folder.path, record.id),
      JSON.stringify({ ...record, host: `not-${hostname()}` }),
    );
    const { here, onOtherHosts } = await findNodes(folder.path, machine(8).as(8));
    expect([here, addresses(onOtherHosts)]).toEqual([[], ["http://node-7"]]);
    expect(await readdir(join(folder.path, "nodes"))).toHaveLength(1);
  });

  test("forgets what version 0.2.0 recorded, wherever it ran", async () => {
    await using folder = await tempDir();
    await mkdir(join(folder.path, "nodes"));
    const old = { id: "old", pid: 7, host: "a", startedAt: "", address: "", config: null };
    await writeFile(recordPath(folder.path, "old"), JSON.stringify(old));
    await using _ = await machine(7).announce(folder.path, 7);
    expect(await readdir(join(folder.path, "nodes"))).toEqual([expect.not.stringContaining("old")]);
  });

  test("passes over what is no record", async () => {
    await using folder = await tempDir();
    const nodes = join(folder.path, "nodes");
    await mkdir(nodes);
    const record = { pid: 7, processStart: "start of 7", host: "a", startedAt: "", address: "" };
    for (const [name, text] of [
      ["half.json", '{"id":"half"'],
      ["other.json", '{"id":3}'],
      ["list.json", "[]"],
      ["reload.json", JSON.stringify({ ...record, id: "reload", config: null, reload: 7 })],
      ["notes.txt", "hello"],
    ] as const) {
      await writeFile(join(nodes, name), text);
    }
    const found = await findNodes(folder.path, machine(7).as(7));
    expect(found).toEqual({ here: [], onOtherHosts: [] });
  });

  test("runs where its data dir is no folder, and says so", async () => {
    await using folder = await tempDir();
    const { log, lines } = recordingLog();
    const dataDir = join(folder.path, "file");
    await writeFile(dataDir, "");
    await using _ = await machine(7).announce(dataDir, 7, { log });
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ["warn", "the data dir cannot be written to: 'paddock reload' does not find this node"],
    ]);
  });
});
