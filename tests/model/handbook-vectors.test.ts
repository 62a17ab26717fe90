import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { handbookDocuments, handbookPagesIn } from "../../src/ingest/handbook.ts";
import made from "../../src/ingest/handbook-vectors.json";
import { keyOf, withHandbookVectors } from "../../src/ingest/handbook-vectors.ts";
import { planDocuments } from "../../src/ingest/passages.ts";
import { openEmbeddingModel } from "../../src/node/documents/node-collection.ts";
import { bareNodeOptions } from "../support/bare-node.ts";
import { tempDir } from "../support/temp-dir.ts";
import { unusedRepository } from "../support/unused-repository.ts";

const { signal } = new AbortController();
/** Of the passages; with fewer, run `bun scripts/handbook-vectors.ts`. */
const leastStored = 0.75;
const compared = 4;

describe("the handbook's vectors", () => {
  test("are what the starter model makes of its passages, and of most of them", async () => {
    await using folder = await tempDir();
    const env = { PADDOCK_DATA_DIR: folder.path };
    await using model = await openEmbeddingModel(bareNodeOptions({ env }), signal);
    const { engine, identity } = model.embedding;
    const { documentPrefix, fingerprint } = identity;
    expect(made.model).toBe(fingerprint);
    const texts: string[] = [];
    const pages = await handbookPagesIn(join(import.meta.dir, "../../docs"));
    const asNew = new Map((await handbookDocuments(pages)).map((page) => [page, undefined]));
    const options = { engine, repository: unusedRepository, documentPrefix, signal };
    for (const plan of (await planDocuments(asNew, options)).values()) {
      if (plan instanceof Error) throw plan;
      if (plan.change === "none") continue;
      for (const { source } of plan.passages) texts.push(documentPrefix + source);
    }
    const keys = new Set(Object.keys(made.vectors));
    const stored = texts.filter((text) => keys.has(keyOf(text)));
    expect(stored.length / texts.length).toBeGreaterThan(leastStored);

    const every = Math.max(1, Math.floor(stored.length / compared));
    const some = stored.filter((_, at) => at % every === 0);
    const before = await withHandbookVectors(engine, fingerprint).embed(some, { signal });
    const now = await engine.embed(some, { signal });
    for (const [at, { vector }] of now.entries()) {
      const other = before[at]?.vector ?? new Float32Array();
      const cosine = vector.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
      expect(cosine).toBeGreaterThan(0.995);
    }
  });
});
