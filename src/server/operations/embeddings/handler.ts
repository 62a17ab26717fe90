/** Texts to their vectors. */
import type { EmbeddingService } from "../../../core/embedding/embedding-service.ts";
import type { Answer, Handler } from "../../operation.ts";
import type { EmbeddingRequest } from "./schema.ts";
import { toEmbeddingListJson, toEmbeddingRequest, totalTokens } from "./wire.ts";

export const embedTexts: Handler<EmbeddingRequest, { embeddings: EmbeddingService }> = async (
  { body },
  context,
  { embeddings: service },
): Promise<Answer> => {
  const { signal, report } = context;
  const { model, embeddings } = await service.embed(toEmbeddingRequest(body), { signal, report });
  context.loggedAnswer = () => ({
    vectors: embeddings.length,
    dimensions: embeddings[0]?.vector.length,
    tokens: totalTokens(embeddings),
  });
  const text = await toEmbeddingListJson(body, { model, embeddings });
  return { text, contentType: "application/json" };
};
