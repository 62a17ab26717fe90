import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { keysFile, SqliteKeys } from "../../src/store/keys/sqlite-keys.ts";
import { type McpClient, mcpOverHttp } from "../support/mcp-client.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tempDir } from "../support/temp-dir.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

const resources = new AsyncDisposableStack();
let node: TinyNode;
let keys: SqliteKeys;
let agent: McpClient;
/** Ids of the collection 'notes', of a document in it, and of another collection. */
let notes: string;
let llamas: string;
let secrets: string;

const text = Array.from({ length: 12 }, (_, at) => `# Part ${at}\n\nLlamas hum tune ${at}.`).join(
  "\n\n",
);

beforeAll(async () => {
  const folder = resources.use(await tempDir());
  keys = resources.use(new SqliteKeys(join(folder.path, keysFile)));
  const { text: all } = keys.create({ name: "all", scopes: ["retrieve", "documents"] });
  node = resources.use(await tinyNode({ env: { PADDOCK_DATA_DIR: folder.path } }));
  const openai = new OpenAI({ baseURL: node.baseUrl, apiKey: all });
  const fill = async (name: string, files: Record<string, string>): Promise<string[]> => {
    const store = await openai.vectorStores.create({ name });
    const ids: string[] = [];
    for (const [file, content] of Object.entries(files)) {
      const upload = await toFile(Buffer.from(content), file);
      const { id } = await openai.files.create({ file: upload, purpose: "assistants" });
      await openai.vectorStores.files.createAndPoll(
        store.id,
        { file_id: id, attributes: { about: file.replace(/\..*/, "") } },
        { pollIntervalMs: 20 },
      );
      ids.push(id);
    }
    return [store.id, ...ids];
  };
  [notes = "", llamas = ""] = await fill("notes", {
    "llamas.md": text,
    "bees.md": "# Bees\n\nBees dance.",
  });
  [secrets = ""] = await fill("secrets", { "plan.md": "# Plan\n\nThe plan is secret." });
  agent = resources.use(await mcpOverHttp(node.baseUrl, all));
});
afterAll(async () => await resources.disposeAsync());

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(new URL("/mcp", node.baseUrl), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const keyed = (name: string, rest: Partial<Parameters<SqliteKeys["create"]>[0]> = {}): string =>
  keys.create({ name, scopes: ["retrieve", "documents"], ...rest }).text;

describe("the tools, over HTTP", () => {
  test("are read-only, and have schemas of what goes in and comes out", async () => {
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "search_documents",
      "read_document",
      "list_collections",
      "list_documents",
    ]);
    for (const tool of tools) {
      expect(tool.annotations).toEqual({
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      });
      expect([tool.inputSchema.type, tool.outputSchema?.type]).toEqual(["object", "object"]);
    }
  });

  test("find passages with where they are from, and read on around one", async () => {
    const { passages } = await agent.call("search_documents", {
      query: "Llamas hum tune 5.",
      collections: ["notes"],
      limit: 1,
    });
    expect(passages).toEqual([
      {
        text: "Part 5\n\nLlamas hum tune 5.",
        score: expect.any(Number),
        document: "llamas.md",
        document_id: llamas,
        collection: notes,
        heading: "Part 5",
        position: 5,
      },
    ]);
    const place = { collection: notes, document_id: llamas };
    const read = await agent.call("read_document", { ...place, position: 5, before: 1, after: 1 });
    expect(read).toEqual({
      document: "llamas.md",
      document_id: llamas,
      collection: notes,
      total_passages: 12,
      truncated: false,
      passages: [4, 5, 6].map((at) => ({
        position: at,
        heading: `Part ${at}`,
        text: `Part ${at}\n\nLlamas hum tune ${at}.`,
      })),
    });
    const first = await agent.call("read_document", { ...place, after: 0 });
    expect(first.passages).toMatchObject([{ position: 0 }]);
  });

  test("search several collections as one, and only what filters let through", async () => {
    const both = { query: "Bees dance.", collections: [notes, "secrets"], limit: 50 };
    const names = async (wanted: Record<string, unknown>) => {
      const { passages } = await agent.call("search_documents", wanted);
      if (!Array.isArray(passages)) throw new Error("No passages");
      return new Set(passages.map((passage) => passage.document));
    };
    expect(await names(both)).toEqual(new Set(["bees.md", "llamas.md", "plan.md"]));
    const filters = { type: "ne", key: "about", value: "llamas" };
    expect(await names({ ...both, filters })).toEqual(new Set(["bees.md", "plan.md"]));
    expect(await names({ ...both, min_score: 1 })).toEqual(new Set());
  });

  test("list collections and documents page by page", async () => {
    const first = await agent.call("list_collections", { limit: 1 });
    expect(first).toEqual({
      collections: [
        { id: notes, name: "notes", documents: 2, coming: 0, searched_by_default: false },
      ],
      next_cursor: notes,
    });
    const rest = await agent.call("list_collections", { cursor: notes });
    expect(rest).toMatchObject({
      collections: [{ name: "default", searched_by_default: true }, { name: "secrets" }],
    });
    expect(rest).not.toHaveProperty("next_cursor");
    const documents = await agent.call("list_documents", { collection: "notes", limit: 1 });
    expect(documents).toEqual({
      collection: notes,
      documents: [
        {
          id: llamas,
          name: "llamas.md",
          uri: `paddock://documents/${notes}/${llamas}`,
          status: "completed",
          passages: 12,
          attributes: { about: "llamas" },
        },
      ],
      next_cursor: llamas,
    });
    const next = await agent.call("list_documents", { collection: "notes", cursor: llamas });
    expect(next).toMatchObject({ documents: [{ name: "bees.md" }] });
  });

  test("say in a sentence what they cannot do", async () => {
    const search = (rest: object) => agent.refusal("search_documents", { query: "x", ...rest });
    const deep = (levels: number): object =>
      levels === 0
        ? { type: "eq", key: "a", value: 1 }
        : { type: "and", filters: [deep(levels - 1)] };
    expect(await agent.refusal("search_documents")).toStartWith("'query' is required");
    expect(await search({ query: "" })).toContain("'query'");
    expect(await search({ query: "word ".repeat(100_000) })).toMatch(/query has .*tokens/);
    expect(await search({ limit: 51 })).toContain("'limit'");
    expect(await search({ top_k: 3 })).toContain("'top_k' is not known here. Known are: query");
    expect(await search({ collections: ["nothing"] })).toBe("No such vector store: 'nothing'.");
    expect(await search({ collections: Array(17).fill(notes) })).toContain("'collections'");
    expect(await search({ filters: deep(20) })).toContain("levels deep");
    expect(await search({ filters: { type: "near", key: "a", value: 1 } })).toContain("'filters");
    const read = (rest: object) =>
      agent.refusal("read_document", { collection: notes, document_id: llamas, ...rest });
    expect(await read({ document_id: "../../etc/passwd" })).toContain("No such file");
    expect(await read({ position: 500 })).toContain("has 12 passages");
    expect(await read({ before: 21 })).toContain("'before'");
    const list = { collection: notes, cursor: "file-of-nobody" };
    expect(await agent.refusal("list_documents", list)).toContain("names nothing of this list");
    const unknown = agent.client.callTool({ name: "delete_everything", arguments: {} });
    expect(await rejectionOf(unknown)).toMatchObject({
      code: -32602,
      message: expect.stringContaining("There is no tool 'delete_everything'; there are search_"),
    });
  });
});

describe("documents as resources", () => {
  test("are listed, and read by their addresses", async () => {
    const { resources: listed } = await agent.client.listResources();
    expect(listed.map(({ name }) => name)).toEqual(["llamas.md", "bees.md", "plan.md"]);
    const [{ uri } = { uri: "" }] = listed;
    expect(uri).toBe(`paddock://documents/${notes}/${llamas}`);
    const { contents } = await agent.client.readResource({ uri });
    const passages = Array.from({ length: 12 }, (_, at) => `Part ${at}\n\nLlamas hum tune ${at}.`);
    expect(contents).toEqual([{ uri, mimeType: "text/plain", text: passages.join("\n\n") }]);
    const last = await agent.client.readResource({ uri: `${uri}?from=11` });
    expect(last.contents).toMatchObject([{ text: passages[11] }]);
    const { resourceTemplates } = await agent.client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([
      { uriTemplate: "paddock://documents/{collection}/{document}{?from}" },
    ]);
  });

  test("are nowhere else", async () => {
    const code = async (uri: string): Promise<unknown> =>
      Object(await rejectionOf(agent.client.readResource({ uri }))).code;
    const noSuchResource = -32002;
    for (const uri of [
      "file:///etc/passwd",
      "paddock://documents/../../etc/passwd",
      `paddock://documents/${notes}/..%2F..%2Fkeys.sqlite`,
      `paddock://documents/${notes}/..`,
      `paddock://documents/${notes}/%E0%A4%A`,
      `paddock://documents/${notes}/${llamas}/more`,
      `paddock://documents/nothing/${llamas}`,
      `paddock://documents/${secrets}/${llamas}`,
      `paddock://documents/${notes}/${"x".repeat(100_000)}`,
    ]) {
      expect([uri.slice(0, 60), await code(uri)]).toEqual([uri.slice(0, 60), noSuchResource]);
    }
    const cursors = ["x", "e30", Buffer.from('["","vs_nothing"]').toString("base64url")];
    for (const cursor of cursors) {
      expect(Object(await rejectionOf(agent.client.listResources({ cursor }))).code).toBe(-32602);
    }
  });
});

describe("a key", () => {
  test("is needed, and must open 'retrieve'", async () => {
    expect(await rejectionOf(mcpOverHttp(node.baseUrl))).toBeInstanceOf(Error);
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await post(ping)).status).toBe(401);
    const chatting = keyed("chatting", { scopes: ["chat"] });
    const refused = await post(ping, { authorization: `Bearer ${chatting}` });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("does not open 'retrieve'");
  });

  test("that does not open 'documents' searches and reads, and lists nothing", async () => {
    await using reader = await mcpOverHttp(node.baseUrl, keyed("reader", { scopes: ["retrieve"] }));
    const { tools } = await reader.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["search_documents", "read_document"]);
    expect(reader.client.getServerCapabilities()).toEqual({ tools: {} });
    expect(await reader.refusal("list_collections")).toContain("does not open 'documents'");
    const found = await reader.call("search_documents", { query: "bees", collections: ["notes"] });
    expect(found.passages).not.toEqual([]);
    const place = { collection: notes, document_id: llamas };
    expect(await reader.call("read_document", place)).toMatchObject({ document: "llamas.md" });
  });

  test("bound to a collection sees no other", async () => {
    const bound = keyed("bound", { vectorStores: [notes] });
    await using reader = await mcpOverHttp(node.baseUrl, bound);
    expect(await reader.call("list_collections")).toMatchObject({
      collections: [{ id: notes, searched_by_default: true }],
    });
    const { passages } = await reader.call("search_documents", { query: "plan", limit: 50 });
    expect(JSON.stringify(passages)).not.toContain("secret");
    expect(await reader.refusal("search_documents", { query: "x", collections: [secrets] })).toBe(
      `No such vector store: '${secrets}'.`,
    );
    expect(await reader.refusal("list_documents", { collection: "secrets" })).toBe(
      "No such vector store: 'secrets'.",
    );
    const { resources: listed } = await reader.client.listResources();
    expect(listed.map(({ name }) => name)).toEqual(["llamas.md", "bees.md"]);
    const uri = `paddock://documents/${secrets}/${llamas}`;
    expect(await rejectionOf(reader.client.readResource({ uri }))).toMatchObject({ code: -32002 });
  });

  test("is held to its limits", async () => {
    const few = keyed("few", { limits: { requestsPerMinute: 1 } });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const headers = { authorization: `Bearer ${few}` };
    expect([(await post(ping, headers)).status, (await post(ping, headers)).status]).toEqual([
      200, 429,
    ]);
  });
});
