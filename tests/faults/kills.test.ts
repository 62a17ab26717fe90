/** A node that is killed at random moments of a mixed load has everything that it acknowledged, and nothing half-done. */
import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { type NodeUnderFault, nodeUnderFault } from "../support/node-under-fault.ts";
import { runPaddock, startPaddock } from "../support/paddock-process.ts";
import { skipUnless } from "../support/skip-reason.ts";
import { waitFor } from "../support/wait-for.ts";

/** Each takes some seconds, so that they are asked for. */
const kills = Number(process.env.PADDOCK_TEST_KILLS ?? 0);
const isLeftOut = skipUnless(kills > 0, "kills take minutes: PADDOCK_TEST_KILLS=200");

/** What the node said that it has done. A request that was under way when it died may be either. */
interface Acknowledged {
  uploads: Map<string, string>;
  deleted: Set<string>;
  /** Nobody knows whether these are still there. */
  maybeDeleted: Set<string>;
  attached: Set<string>;
  responses: Set<string>;
  keys: Set<string>;
}

test.skipIf(isLeftOut)(
  "a node that is killed at any moment has what it acknowledged",
  async () => {
    // However slow the machine is: what is tried is what a kill leaves, not how long reading may take.
    await using under = await nodeUnderFault({ models: "\n[ingest]\nread_timeout = 3600\n" });
    const { stdout } = await runPaddock(["keys", "create", "load"], { cwd: under.folder.path });
    key = /pk_\S+/.exec(stdout)?.[0] ?? "";
    under.useKey(key);
    const store = (await clientOf(under).vectorStores.create({ name: "load" })).id;
    const known: Acknowledged = {
      uploads: new Map(),
      deleted: new Set(),
      maybeDeleted: new Set(),
      attached: new Set(),
      responses: new Set(),
      keys: new Set(),
    };
    for (let round = 0; round < kills; round++) {
      await underLoad(under, store, known, round);
      await under.restart();
      await expectAcknowledged(under, store, known);
    }
    expect(known.uploads.size).toBeGreaterThan(0);
    expect(known.responses.size).toBeGreaterThan(0);
    if (process.env.PADDOCK_TEST_FIGURES !== undefined) {
      const { uploads, deleted, maybeDeleted, attached, responses, keys } = known;
      console.log(
        `${kills} kills: ${uploads.size} uploads, ${deleted.size} deletions (${maybeDeleted.size} cut off), ${attached.size} files in a vector store, ${responses.size} responses, ${keys.size} keys`,
      );
    }
    await under.expectWell();
  },
  3_600_000,
);

let key = "";

const clientOf = ({ node }: NodeUnderFault): OpenAI =>
  new OpenAI({ baseURL: `${node.origin}/v1`, apiKey: key, maxRetries: 0 });

/** Sends everything at once until the node is dead. */
async function underLoad(
  under: NodeUnderFault,
  store: string,
  known: Acknowledged,
  round: number,
): Promise<void> {
  const client = clientOf(under);
  let isDead = false;
  let acknowledged = 0;
  const untilDead = async (work: (at: number) => Promise<void>): Promise<void> => {
    for (let at = 0; !isDead; at++) {
      try {
        await work(at);
        acknowledged++;
      } catch (error) {
        // The connection is gone with the node; any other error is a fault.
        if (!(error instanceof OpenAI.APIConnectionError)) throw error;
        return;
      }
    }
  };
  const upload = async (at: number): Promise<string> => {
    const text = `# Note ${round}.${at}\n\nThe llama ${round} hums ${at} times. ${"x".repeat(at % 7 === 0 ? 60_000 : 20)}`;
    const file = await toFile(Buffer.from(text), `note-${round}-${at}.md`);
    const { id } = await client.files.create({ file, purpose: "assistants" });
    known.uploads.set(id, text);
    return id;
  };
  const load = [
    untilDead(async (at) => {
      const id = await upload(at * 2);
      if (at % 2 === 0) return;
      known.maybeDeleted.add(id);
      await client.files.delete(id);
      known.maybeDeleted.delete(id);
      known.deleted.add(id);
    }),
    untilDead(async (at) => {
      if (at > 20) return void (await Bun.sleep(5));
      const id = await upload(at * 2 + 1);
      await client.vectorStores.files.create(store, { file_id: id });
      known.attached.add(id);
    }),
    untilDead(async (at) => {
      const { id } = await client.responses.create({
        model: "tiny-chat",
        input: `${round} ${at}`,
        max_output_tokens: 1,
      });
      known.responses.add(id);
    }),
  ];
  // So that something was acknowledged in each round, however slow the machine is.
  await waitFor("the load to begin", () => Promise.resolve(acknowledged >= 3));
  const name = `key-${round}`;
  await using keys = startPaddock(["keys", "create", name], { cwd: under.folder.path });
  await Bun.sleep(Math.random() * 600);
  keys.process.kill("SIGKILL");
  await under.stop("SIGKILL");
  isDead = true;
  await Promise.all(load);
  if ((await keys.exit()) === 0) known.keys.add(name);
}

async function expectAcknowledged(
  under: NodeUnderFault,
  store: string,
  known: Acknowledged,
): Promise<void> {
  const client = clientOf(under);
  const listed = new Map<string, number>();
  for await (const file of client.files.list({ limit: 10_000 })) listed.set(file.id, file.bytes);
  for (const [id, text] of known.uploads) {
    if (known.maybeDeleted.has(id)) continue;
    expect([id, listed.has(id)]).toEqual([id, !known.deleted.has(id)]);
    if (listed.has(id)) expect(listed.get(id)).toBe(Buffer.byteLength(text));
  }
  const [last] = [...listed.keys()].filter((id) => known.uploads.has(id));
  if (last !== undefined) {
    expect(await (await client.files.content(last)).text()).toBe(known.uploads.get(last) ?? "");
  }
  // The bytes on the disk are those of the files that are listed, and nothing else.
  const folder = join(under.folder.path, ".paddock", "files");
  // Bytes that came whole and were not acknowledged are set aside, for a person to decide.
  const onDisk = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name !== "orphaned");
  await waitFor(
    "what was left half-done to be gone",
    async () => (await onDisk()).length === listed.size,
  );
  for (const id of [...known.responses].slice(-20)) {
    expect((await client.responses.retrieve(id)).status).toMatch(/completed|incomplete/);
  }
  await waitFor("every file to be ingested", async () => {
    const { file_counts } = await client.vectorStores.retrieve(store);
    return file_counts.in_progress === 0;
  });
  const stored = new Map<string, unknown>();
  for await (const file of client.vectorStores.files.list(store, { limit: 100 })) {
    stored.set(file.id, file.last_error ?? file.status);
  }
  for (const id of known.attached) expect([id, stored.get(id)]).toEqual([id, "completed"]);
  const { code, stdout } = await runPaddock(["keys", "list"], { cwd: under.folder.path });
  expect(code).toBe(0);
  for (const name of known.keys) expect(stdout).toContain(name);
}
