import { describe, expect, test } from "bun:test";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { askToReload } from "../../../src/node/ask-to-reload.ts";
import { listRecords, type ReloadOutcome } from "../../../src/node/node-record.ts";
import {
  isStale,
  type Processes,
  RunningNode,
  type RunningNodeOptions,
} from "../../../src/node/running-node.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { tempDir } from "../../support/temp-dir.ts";

const everyone: Processes = { id: 7, isAlive: () => true };
const within = { withinMs: 60_000, signal: new AbortController().signal };
const outcome: ReloadOutcome = { changed: ["log_level"], needsRestart: [] };

const optionsFor = (
  dataDir: string,
  options: Partial<RunningNodeOptions> = {},
): RunningNodeOptions => ({
  dataDir,
  processes: everyone,
  address: "http://127.0.0.1:8080",
  config: "/etc/paddock.toml",
  reload: async () => outcome,
  log: recordingLog().log,
  ...options,
});

describe("a running node in its data dir", () => {
  test("is found from its start to its end", async () => {
    await using folder = await tempDir();
    const dataDir = join(folder.path, "data");
    const before = await listRecords(dataDir);
    const node = await RunningNode.announce(optionsFor(dataDir));
    const during = await listRecords(dataDir);
    await node[Symbol.asyncDispose]();
    expect([before, during, await listRecords(dataDir)]).toEqual([
      [],
      [
        {
          id: expect.any(String),
          pid: 7,
          host: hostname(),
          startedAt: expect.any(String),
          address: "http://127.0.0.1:8080",
          config: "/etc/paddock.toml",
        },
      ],
      [],
    ]);
    expect(await readdir(join(dataDir, "nodes"))).toEqual([]);
  });

  test("answers each of several who ask at once, one reload after another", async () => {
    await using folder = await tempDir();
    let running = 0;
    let most = 0;
    const reload = async (): Promise<ReloadOutcome> => {
      most = Math.max(most, ++running);
      await Bun.sleep(5);
      running--;
      return outcome;
    };
    await using node = await RunningNode.announce(optionsFor(folder.path, { reload }));
    const [record] = await listRecords(folder.path);
    if (record === undefined) throw new Error("No record");
    const asking = Array.from({ length: 4 }, () => askToReload(folder.path, record, within));
    await Promise.all([node.reload(), node.reload()]);
    for (const found of await Promise.all(asking)) expect(found).toMatchObject(outcome);
    expect(most).toBe(1);
  });

  test("shares the data dir with others, and only who is asked answers", async () => {
    await using folder = await tempDir();
    const reloaded: string[] = [];
    const named = (address: string) =>
      optionsFor(folder.path, {
        address,
        reload: async () => {
          reloaded.push(address);
          return outcome;
        },
      });
    await using _one = await RunningNode.announce({ ...named("http://one") });
    await using _two = await RunningNode.announce({
      ...named("http://two"),
      processes: { ...everyone, id: 8 },
    });
    const records = await listRecords(folder.path);
    const two = records.find(({ address }) => address === "http://two");
    if (two === undefined) throw new Error("No record");
    await askToReload(folder.path, two, within);
    expect([records.length, reloaded]).toEqual([2, ["http://two"]]);
  });

  test("is not waited for longer than wanted, and not asked any more then", async () => {
    await using folder = await tempDir();
    const node = await RunningNode.announce(optionsFor(folder.path));
    const [record] = await listRecords(folder.path);
    if (record === undefined) throw new Error("No record");
    await node[Symbol.asyncDispose]();
    expect(await askToReload(folder.path, record, { ...within, withinMs: 10 })).toBeUndefined();
    expect(await readdir(join(folder.path, "nodes"))).toEqual([]);
  });

  test("forgets one that was killed when it starts, and no other", async () => {
    await using folder = await tempDir();
    // Neither is disposed: that is what a kill looks like.
    await RunningNode.announce(optionsFor(folder.path, { address: "http://killed" }));
    await RunningNode.announce(
      optionsFor(folder.path, { address: "http://alive", processes: { ...everyone, id: 8 } }),
    );
    const isAlive = (id: number): boolean => id === 8;
    await using _ = await RunningNode.announce(
      optionsFor(folder.path, { address: "http://new", processes: { id: 9, isAlive } }),
    );
    const found = (await listRecords(folder.path)).map(({ address }) => address);
    expect(found.toSorted()).toEqual(["http://alive", "http://new"]);
  });

  test("does not take a node of another machine for killed, and a process of its own number for that node", async () => {
    await using folder = await tempDir();
    await using _ = await RunningNode.announce(optionsFor(folder.path));
    const [record] = await listRecords(folder.path);
    if (record === undefined) throw new Error("No record");
    const nobody: Processes = { id: 1, isAlive: () => false };
    expect([
      isStale({ ...record, host: "elsewhere" }, nobody),
      isStale(record, nobody),
      isStale({ ...record, pid: 1 }, { id: 1, isAlive: () => true }),
    ]).toEqual([false, true, true]);
  });

  test("passes over what is no record", async () => {
    await using folder = await tempDir();
    const nodes = join(folder.path, "nodes");
    await mkdir(nodes);
    for (const [name, text] of [
      ["half.json", '{"id":"half"'],
      ["other.json", '{"id":3}'],
      ["list.json", "[]"],
      [
        "reload.json",
        '{"id":"a","pid":1,"host":"a","startedAt":"","address":"","config":null,"reload":7}',
      ],
      ["notes.txt", "hello"],
    ] as const) {
      await writeFile(join(nodes, name), text);
    }
    expect(await listRecords(folder.path)).toEqual([]);
  });

  test("runs where its data dir is no folder, and says so", async () => {
    await using folder = await tempDir();
    const { log, lines } = recordingLog();
    const dataDir = join(folder.path, "file");
    await writeFile(dataDir, "");
    await using _ = await RunningNode.announce(optionsFor(dataDir, { log }));
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ["warn", "the data dir cannot be written to: 'paddock reload' does not find this node"],
    ]);
  });
});
