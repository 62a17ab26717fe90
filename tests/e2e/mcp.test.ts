/** MCP as editors and agents come with it: the program on their standard input and output, or a node over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { mcpOverHttp, mcpOverStdio } from "../support/mcp-client.ts";
import {
  environmentIn,
  programUnderTest,
  runPaddock,
  type ServingPaddock,
  servePaddock,
  startPaddock,
} from "../support/paddock-process.ts";
import { rejectionOf } from "../support/rejection.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyEmbeddingConfig } from "../support/tiny-node.ts";

const key = "a-long-secret";
const env = { PADDOCK_API_KEYS: key };

/** A folder with a configuration and a collection that holds one document. */
let folder: TempDir;
let notes: { cwd: string };
/** The node there, once a test wants one. */
let started: ServingPaddock | undefined;
const startedNode = async (): Promise<ServingPaddock> => {
  started ??= await servePaddock({ ...notes, env });
  return started;
};

beforeAll(async () => {
  folder = await tempDir();
  notes = { cwd: folder.path };
  await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
  await writeFile(
    join(folder.path, "llamas.md"),
    "# Llamas\n\nLlamas hum.\n\n# Bees\n\nBees dance.",
  );
  expect((await runPaddock(["ingest", "llamas.md"], notes)).code).toBe(0);
});
afterAll(async () => {
  await started?.[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const found = { document: "llamas.md", heading: "Llamas", position: 0, collection: "vs_default" };

const message = (id: number, method: string, params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;

test("the commands of docs/mcp.md work word for word, one after the other", async () => {
  await using folder = await tempDir();
  const { path: cwd } = folder;
  await writeFile(join(cwd, "paddock.toml"), await tinyEmbeddingConfig());
  await mkdir(join(cwd, "docs"));
  await writeFile(join(cwd, "docs", "llamas.md"), "# Llamas\n\nLlamas hum.");
  const page = await Bun.file(join(import.meta.dir, "..", "..", "docs", "mcp.md")).text();
  const commands = [...page.matchAll(/^bun paddock ((?:ingest|keys) .*)$/gm)].map(([, line = ""]) =>
    line.replace("/srv/paddock", join(cwd, "data")).split(" "),
  );
  expect(commands.map(([name]) => name)).toEqual(["ingest", "ingest", "keys"]);
  for (const args of commands) {
    const { code, stderr } = await runPaddock(args, { cwd });
    expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, expect.any(String)]);
  }
});

describe("paddock mcp", () => {
  test("searches, reads and lists the documents of a data dir without a node", async () => {
    await using editor = await mcpOverStdio([], notes);
    const { passages } = await editor.call("search_documents", { query: "Llamas hum.", limit: 1 });
    expect(passages).toMatchObject([found]);
    expect(await editor.call("list_collections")).toMatchObject({
      collections: [{ id: "vs_default", documents: 1, searched_by_default: true }],
    });
    const { resources } = await editor.client.listResources();
    const [{ uri } = { uri: "" }] = resources;
    const { contents } = await editor.client.readResource({ uri });
    expect(contents).toMatchObject([{ text: "Llamas\n\nLlamas hum.\n\nBees\n\nBees dance." }]);
    const document_id = uri.split("/").at(-1) ?? "";
    const place = { collection: "default", document_id, position: 1, before: 0 };
    expect(await editor.call("read_document", place)).toMatchObject({
      total_passages: 2,
      passages: [{ position: 1, heading: "Bees" }],
    });
    expect(
      await editor.refusal("read_document", { ...place, document_id: "../llamas.md" }),
    ).toContain("No such file");
  });

  test("runs beside a node, which keeps its documents, and sees what comes into them", async () => {
    await using editor = await mcpOverStdio([], notes);
    await editor.call("list_collections");
    const node = await startedNode();
    const openai = new OpenAI({ baseURL: `${node.origin}/v1`, apiKey: key });
    const store = await openai.vectorStores.create({ name: "more" });
    const file = await toFile(Buffer.from("# Owls\n\nOwls hoot."), "owls.md");
    const taken = await openai.vectorStores.files.uploadAndPoll(store.id, file, {
      pollIntervalMs: 20,
    });
    expect(taken.status).toBe("completed");
    const wanted = { query: "Owls hoot.", collections: ["more"] };
    expect(await editor.call("search_documents", wanted)).toMatchObject({
      passages: [{ document: "owls.md", document_id: taken.id }],
    });
    await using agent = await mcpOverHttp(node.origin, key);
    expect(await agent.call("search_documents", wanted)).toMatchObject({
      passages: [{ document: "owls.md" }],
    });
    await openai.vectorStores.files.delete(taken.id, { vector_store_id: store.id });
    expect(await editor.call("search_documents", wanted)).toMatchObject({ passages: [] });
  });

  test("says that there is no collection yet, and finds it once there is", async () => {
    await using folder = await tempDir();
    const options = { cwd: folder.path, env: { PADDOCK_DATA_DIR: folder.path } };
    await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
    await writeFile(join(folder.path, "llamas.md"), "# Llamas\n\nLlamas hum.");
    await using editor = await mcpOverStdio([], options);
    const wanted = { query: "llamas" };
    expect(await editor.refusal("search_documents", wanted)).toContain(
      "There is no collection 'default' in this data dir yet; 'paddock ingest PATH' makes one.",
    );
    expect((await runPaddock(["ingest", "llamas.md"], options)).code).toBe(0);
    expect(await editor.call("search_documents", wanted)).toMatchObject({ passages: [found] });
  });

  test("answers what is in a pipe, says what is no message, and writes nothing else", async () => {
    const input = `\nnonsense\n${message(1, "ping")}${message(2, "tools/list")}[]\n${message(3, "no/such")}`;
    const { code, stdout } = await runPaddock(["mcp"], { ...notes, input, isProcess: true });
    const answers = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const shown = answers.map(({ id, error }) => `${id} ${error?.code ?? "done"}`);
    expect([code, ...shown.sort()]).toEqual([
      0,
      "1 done",
      "2 done",
      "3 -32601",
      "null -32700",
      "null -32700",
    ]);
  });

  test("ends with its input, and when it is asked to", async () => {
    expect((await runPaddock(["mcp"], { ...notes, isProcess: true })).code).toBe(0);
    const [command = "", ...args] = programUnderTest;
    const editor = Bun.spawn([command, ...args, "mcp"], {
      ...{ cwd: notes.cwd, env: environmentIn(notes.cwd) },
      ...{ stdin: "pipe", stdout: "pipe", stderr: "ignore" },
    });
    editor.stdin.write(message(1, "ping"));
    editor.stdin.flush();
    for await (const _ of editor.stdout) break;
    editor.kill("SIGTERM");
    expect(await editor.exited).toBe(0);
  });

  test("refuses a line that does not end", async () => {
    const { code, stderr } = await runPaddock(["mcp"], {
      ...notes,
      input: "x".repeat(5_000_000),
      isProcess: true,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining("A message is longer than")]);
  });

  test("makes nothing in a folder that has no data dir", async () => {
    await using folder = await tempDir();
    await using paddock = startPaddock(["mcp"], { cwd: folder.path });
    expect(await paddock.exit()).toBe(1);
    expect(paddock.stderr()).toContain("Name the node's with --data-dir or PADDOCK_DATA_DIR");
    expect(existsSync(join(folder.path, ".paddock"))).toBe(false);
  });

  test("passes on to a node what it is asked, with the environment's key", async () => {
    const node = await startedNode();
    const connect = (secret: string) =>
      mcpOverStdio(["--url", node.origin], { ...notes, env: { PADDOCK_KEY: secret } });
    await using editor = await connect(key);
    expect(await editor.call("search_documents", { query: "Llamas hum.", limit: 1 })).toMatchObject(
      {
        passages: [found],
      },
    );
    const { resources } = await editor.client.listResources();
    expect(resources).toMatchObject([{ name: "llamas.md" }]);
    expect(await editor.refusal("search_documents", { query: "" })).toContain("'query'");
    expect(await rejectionOf(connect("another"))).toMatchObject({
      message: expect.stringContaining("PADDOCK_KEY holds another."),
    });
    await node.process.kill();
    await node.exit();
    expect(await rejectionOf(editor.client.ping())).toMatchObject({
      message: expect.stringContaining("Nothing answers at"),
    });
  });
});
