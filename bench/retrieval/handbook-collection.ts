/** The handbook in a collection of its own, as a node has it, and a service that searches it. */
import { join } from "node:path";
import type { RetrievalService } from "../../src/core/retrieval/retrieval-service.ts";
import { handbookDocuments, handbookPagesIn } from "../../src/ingest/handbook.ts";
import { planDocuments } from "../../src/ingest/passages.ts";
import { collectionStore, openEmbeddingModel } from "../../src/node/documents/node-collection.ts";
import { bareNodeOptions } from "../../tests/support/bare-node.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { remembering, serviceFor } from "./retrieval-set.ts";

export interface HandbookCollection extends AsyncDisposable {
  /** Hybrid search, as a node does by default. */
  service: RetrievalService;
}

export async function handbookCollection(threads: string): Promise<HandbookCollection> {
  await using stack = new AsyncDisposableStack();
  const { signal } = new AbortController();
  const folder = stack.use(await tempDir());
  const nodeOptions = bareNodeOptions({
    env: { PADDOCK_DATA_DIR: folder.path, PADDOCK_THREADS: threads },
  });
  const model = stack.use(await openEmbeddingModel(nodeOptions, signal));
  const embedding = remembering(model.embedding);
  const { engine, identity } = embedding;
  const { documentPrefix } = identity;
  const repository = stack.use(
    await collectionStore(nodeOptions).create("handbook", {
      dimension: engine.dimension,
      embedding: identity,
    }),
  );
  const pages = await handbookPagesIn(join(import.meta.dir, "../../docs"));
  const asNew = new Map((await handbookDocuments(pages)).map((page) => [page, undefined]));
  const options = { engine, repository, documentPrefix, signal };
  for (const plan of (await planDocuments(asNew, options)).values()) {
    if (plan instanceof Error) throw plan;
    if (plan.change === "none") continue;
    const passages = [...plan.passages];
    const texts = passages.map(({ source }) => documentPrefix + source);
    const vectors = await engine.embed(texts, { signal });
    await repository.upsert(
      passages.flatMap((passage, at) => {
        const vector = vectors[at]?.vector;
        return vector === undefined ? [] : [{ ...passage, vector }];
      }),
    );
  }
  const owned = stack.move();
  return {
    service: serviceFor(embedding, repository, "hybrid"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
