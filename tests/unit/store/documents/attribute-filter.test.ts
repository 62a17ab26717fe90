import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import type {
  AttributeFilter,
  Attributes,
  StoreFile,
} from "../../../../src/core/documents/records.ts";
import { documentRows } from "../../../../src/store/documents/sqlite-documents.ts";
import { type TempDir, tempDir } from "../../../support/temp-dir.ts";

let folder: TempDir;
let registry: ReturnType<typeof documentRows>;
beforeAll(async () => {
  folder = await tempDir();
  registry = documentRows(`${folder.path}/documents.sqlite`);
});
afterAll(async () => {
  registry[Symbol.dispose]();
  await folder[Symbol.asyncDispose]();
});

let stores = 0;

const storeFile = (store: string, name: string, attributes: Attributes): StoreFile => ({
  ...{ store, file: `file-${name}`, filename: name, document: name, attributes },
  ...{ isUploaded: true, status: "completed", usageBytes: 0, passages: 1 },
  createdAt: new Date(),
});

/** A vector store with documents of these attributes, and those of them that are hidden. */
function storeOf(documents: Record<string, Attributes>, hidden: readonly string[] = []) {
  const store = `vs_${stores++}`;
  registry.putStoreFiles(
    Object.entries(documents).map(([name, attributes]) => storeFile(store, name, attributes)),
  );
  for (const document of hidden) registry.addRemoval({ collection: store, document });
  return { id: store, collection: store };
}

async function matches(filter: AttributeFilter, attributes: Attributes): Promise<boolean> {
  // Others beside it, so that it is the shorter list.
  const store = storeOf({ it: attributes, other: {}, another: {} });
  const { documents } = await registry.selection(store, filter);
  return "only" in documents ? documents.only.has("it") : !documents.except.has("it");
}

const german = { language: "de", year: 2024, draft: false };

const eq = (key: string, value: string | number | boolean): AttributeFilter => ({
  type: "eq",
  key,
  value,
});

describe("a filter on attributes", () => {
  test.each<[AttributeFilter, boolean]>([
    [eq("language", "de"), true],
    [eq("language", "en"), false],
    [eq("draft", false), true],
    [eq("missing", false), false],
    [{ type: "ne", key: "language", value: "en" }, true],
    [{ type: "ne", key: "missing", value: "en" }, true],
    [{ type: "gt", key: "year", value: 2024 }, false],
    [{ type: "gte", key: "year", value: 2024 }, true],
    [{ type: "lt", key: "year", value: 2025 }, true],
    [{ type: "lte", key: "year", value: 2023 }, false],
    [{ type: "gt", key: "language", value: "da" }, true],
    [{ type: "in", key: "year", values: new Set([2023, 2024]) }, true],
    [{ type: "in", key: "missing", values: new Set(["a"]) }, false],
    [{ type: "nin", key: "year", values: new Set([2023]) }, true],
    [{ type: "nin", key: "missing", values: new Set(["a"]) }, true],
    [{ type: "and", filters: [eq("language", "de"), eq("year", 2024)] }, true],
    [{ type: "and", filters: [eq("language", "de"), eq("year", 1)] }, false],
    [{ type: "or", filters: [eq("language", "en"), eq("year", 2024)] }, true],
    [{ type: "or", filters: [eq("language", "en"), eq("year", 1)] }, false],
  ])("%j: %p", async (filter, isMatch) => {
    expect(await matches(filter, german)).toBe(isMatch);
  });

  test.each<[AttributeFilter]>([
    [eq("year", "2024")],
    [{ type: "gt", key: "year", value: "1" }],
    [{ type: "lt", key: "language", value: 5 }],
    [{ type: "gte", key: "missing", value: 0 }],
    [eq("constructor", "x")],
    [{ type: "gt", key: "toString", value: "" }],
  ])(
    "finds values of another type, and what objects have by nature, not to match: %j",
    async (filter) => {
      expect(await matches(filter, german)).toBe(false);
    },
  );

  test.each([
    4225278812169597000,
    2 ** 53 + 2,
    0.1 + 0.2,
    1e21,
    -0,
    5e-324,
    'quoted "text"',
    "back\\slash\nline",
    "\u0000 and 😀 and \ud800",
    "",
    true,
    false,
  ])("finds %p equal to itself, in a list and in order, under any key", async (value) => {
    for (const key of ["k", 'a"b', "a.b", "$", "[0]", "\ud800", "__proto__x"]) {
      const attributes = { [key]: value };
      expect(await matches(eq(key, value), attributes)).toBe(true);
      expect(await matches({ type: "ne", key, value }, attributes)).toBe(false);
      expect(await matches({ type: "in", key, values: new Set(["x", 7, value]) }, attributes)).toBe(
        true,
      );
      expect(await matches({ type: "nin", key, values: new Set([value]) }, attributes)).toBe(false);
      expect(await matches({ type: "gte", key, value }, attributes)).toBe(true);
      expect(await matches({ type: "lt", key, value }, attributes)).toBe(false);
    }
  });

  test("is the shorter list of documents, and never lets a hidden one through", async () => {
    const documents = { a: { n: 1 }, b: { n: 2 }, c: { n: 2 } };
    const store = storeOf(documents, ["h", "b"]);
    const hidden = new Set(["h", "b"]);
    const select = (filter?: AttributeFilter) => registry.selection(store, filter);
    expect(await select()).toEqual({ hidden, documents: { except: hidden } });
    expect(await select(eq("n", 1))).toEqual({ hidden, documents: { only: new Set(["a"]) } });
    expect(await select(eq("n", 2))).toEqual({ hidden, documents: { only: new Set(["c"]) } });
    expect(await select(eq("n", 3))).toEqual({ hidden, documents: { only: new Set() } });
    expect(await registry.selection(storeOf(documents), eq("n", 2))).toEqual({
      hidden: new Set(),
      documents: { except: new Set(["a"]) },
    });
  });

  test("lets other calls in between, and does not let through what they add", async () => {
    const names = Array.from({ length: 1001 }, (_, at) => `m${at}`);
    const store = storeOf(Object.fromEntries(names.map((name) => [name, { n: 2 }])));
    const selecting = registry.selection(store, eq("n", 2));
    registry.putStoreFiles([storeFile(store.id, "a", { n: 1 })]);
    expect((await selecting).documents).toEqual({ except: new Set(["a"]) });
  });
});

test("a page reads the attributes of no more files than it has, however many there are", () => {
  const pairs = Array.from({ length: 16 }, (_, at) => [`k${at}`, "v".repeat(512)]);
  const attributes: Attributes = Object.fromEntries(pairs);
  const listed = (count: number) => {
    const names = Array.from({ length: count }, (_, at) => `${at}`);
    const { id: store } = storeOf(Object.fromEntries(names.map((name) => [name, attributes])));
    using parse = spyOn(JSON, "parse");
    registry.storeFiles({ store, status: "completed" }, { limit: 100, order: "desc" });
    return parse.mock.calls.length;
  };
  expect(listed(5000)).toBe(listed(101));
});
