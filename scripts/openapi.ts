/** Writes openapi/openapi.json from the routes. */
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };
import { createApp } from "../src/app.ts";
import { ChatService } from "../src/core/chat.ts";
import { EmbeddingService } from "../src/core/embedding.ts";
import { ModelRegistry } from "../src/core/model.ts";
import { RetrievalService } from "../src/core/retrieval.ts";
import { keyAccess } from "../src/http/auth.ts";

export const documentFile = join(import.meta.dir, "..", "openapi", "openapi.json");

/** The document as a node without models serves it; the routes are the same on every node. */
export async function openapiDocument(): Promise<string> {
  const models = new ModelRegistry([]);
  const ignore = (): void => {};
  const app = createApp({
    chat: new ChatService(models),
    embeddings: new EmbeddingService(models),
    retrieval: new RetrievalService(models, {
      name: "default",
      embeddingModel: undefined,
      url: "embedded",
      bounds: { limit: 5, scoreThreshold: 0.4 },
    }),
    models,
    identity: () => ({ version, engineVersion: "", port: 8080 }),
    access: keyAccess([]),
    stopping: new AbortController().signal,
    limits: { maxBodyBytes: 0, requestTimeoutMs: 0 },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  });
  const response = await app.handle(new Request("http://localhost/openapi.json"));
  return `${JSON.stringify(await response.json(), null, 2)}\n`;
}

if (import.meta.main) {
  await Bun.write(documentFile, await openapiDocument());
  console.log(`Wrote ${documentFile}`);
}
