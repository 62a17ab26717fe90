/** A real node with tiny models and some knowledge, and what must hold of it after any fault. */
import { afterAll, expect } from "bun:test";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readiness } from "../../src/server/operations/node/schema.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "./decode.ts";
import { runPaddock, type ServingPaddock, servePaddock } from "./paddock-process.ts";
import { memoryOf } from "./process-tree.ts";
import { type TempDir, tempDir } from "./temp-dir.ts";
import { tinyConfig } from "./tiny-node.ts";
import { waitFor } from "./wait-for.ts";

export interface NodeUnderFault extends AsyncDisposable {
  folder: TempDir;
  node: ServingPaddock;
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  ready(): Promise<{ status: number; reasons: string[] }>;
  /** From now on requests carry a key. */
  useKey(key: string): void;
  /** Ends the process; default: without a warning. */
  stop(how?: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** The same, and starts another on the same folder. */
  restart(): Promise<void>;
  /** Fails unless the node is as it was before the fault. */
  expectWell(): Promise<void>;
}

export interface FaultOptions {
  /** Lines for the `[vectorstore]` section. */
  vectorstore?: string;
  /** Lines for the `[engine]` section. */
  engine?: string;
  /** Lines before all sections. */
  top?: string;
  chatSettings?: string;
  /** Sections of more models. */
  models?: string;
  /** Where the node lives; default: a temporary folder. */
  folder?: TempDir;
}

/** Slots of the chat model. */
export const slots = 4;
/**
 * What memory may grow to, of what it was: caches, buffers and a collector that was not in need make it
 * a tenth more. A model that was loaded twice, or answers that nobody fetches, make it half as much again.
 */
const mostGrowth = 1.5;

export const chatBody = (content: string, maxTokens: number, rest: object = {}) => ({
  model: "tiny-chat",
  messages: [{ role: "user", content }],
  max_tokens: maxTokens,
  // Without the end token an answer is as long as it may be.
  logit_bias: { "2": -100 },
  ...rest,
});

export const embeddingBody = (input: readonly string[]) => ({ model: "tiny-embedding", input });

const question = {
  model: "tiny-embedding",
  messages: [{ role: "user", content: "Which animals hum?" }],
};

/** Writes a configuration, and ingests some knowledge; `place` is where commands run. */
export async function prepareFolder(folder: TempDir, options: Omit<FaultOptions, "folder"> = {}) {
  const config = (await tinyConfig(options.chatSettings))
    .replace("[engine]", `[engine]\n${options.engine ?? ""}`)
    .replace(
      "[vectorstore]",
      `${options.top ?? ""}\n[vectorstore]\nscore_threshold = -1\n${options.vectorstore ?? ""}`,
    );
  const toml = config + (options.models ?? "");
  await writeFile(join(folder.path, "paddock.toml"), toml);
  await writeFile(
    join(folder.path, "llamas.md"),
    "# Llamas\n\nLlamas hum.\n\n# Bees\n\nBees buzz.",
  );
  // Where the program's own cache is kept is not what is tried.
  const place = { cwd: folder.path, env: { HOME: tmpdir() } };
  const ingested = await runPaddock(["ingest", "llamas.md", "--isolation", "none"], place);
  if (ingested.code !== 0) throw new Error(`Nothing was ingested:\n${ingested.stderr}`);
  return { place, toml };
}

/** One for all tests of a file: started by the first, and again by the next where one has ended it. */
export function sharedNode(
  options: () => Promise<FaultOptions> = async () => ({}),
): () => Promise<NodeUnderFault> {
  let starting: Promise<NodeUnderFault> | undefined;
  afterAll(async () => await (await starting)?.[Symbol.asyncDispose]());
  return async () => {
    starting ??= options().then(nodeUnderFault);
    const under = await starting;
    const { exitCode, signalCode } = under.node.process;
    if (exitCode !== null || signalCode !== null) await under.restart();
    return under;
  };
}

export async function nodeUnderFault(options: FaultOptions = {}): Promise<NodeUnderFault> {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(options.folder ?? (await tempDir()));
  const { place } = await prepareFolder(folder, options);
  let node = await servePaddock(place);
  resources.defer(async () => await node[Symbol.asyncDispose]());
  let key = "";
  const post = (path: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
    fetch(`${node.origin}/v1${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
      ...init,
    });
  const retrieve = async (): Promise<RetrieveResult> =>
    await decode(RetrieveResult, await post("/retrieve", question));
  const known = await retrieve();
  expect(known.points).toHaveLength(2);
  const memory = await memoryOf(node.process.pid);
  const ready = async (): Promise<{ status: number; reasons: string[] }> => {
    const response = await fetch(`${node.origin}/ready`);
    const { status } = response;
    return { status, reasons: [...(await decode(Readiness, response)).reasons] };
  };
  return {
    folder,
    get node() {
      return node;
    },
    post,
    ready,
    useKey(text) {
      key = text;
    },
    async stop(how = "SIGKILL") {
      node.process.kill(how);
      await node.exit();
    },
    async restart() {
      await node[Symbol.asyncDispose]();
      node = await servePaddock(place);
    },
    async expectWell() {
      expect((await fetch(`${node.origin}/health`)).status).toBe(200);
      await waitFor("the node to be ready", async () => (await ready()).status === 200, 20);
      expect(await ready()).toEqual({ status: 200, reasons: [] });
      // One more than there are slots: a lost one would keep somebody waiting for ever.
      const answers = await Promise.all(
        Array.from({ length: slots + 1 }, (_, at) =>
          post("/chat/completions", chatBody(`${at}`, 4)),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      for (const answer of answers) {
        expect(await answer.json()).toMatchObject({ usage: { completion_tokens: 4 } });
      }
      const embedded = await post("/embeddings", embeddingBody(["a", "b"]));
      expect(await embedded.json()).toMatchObject({ data: [{ index: 0 }, { index: 1 }] });
      expect(await retrieve()).toEqual(known);
      // What is not leaked is given back by the collector in time.
      await waitFor(
        "the memory to be given back",
        async () => (await memoryOf(node.process.pid)) <= memory * mostGrowth,
        20,
      );
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
