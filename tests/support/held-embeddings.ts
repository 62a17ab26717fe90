/** An embedding model on another server, which embeds passages only as far as it is allowed to. */
import { type ConventionServer, modelList, openAiServer } from "./openai-server.ts";

export interface HeldEmbeddings extends ConventionServer {
  /** Answers so many more requests for several texts at once; what asks for one text never waits. */
  allow(requests: number): void;
}

/** The server's model has the tiny model's name, and vectors that differ by the length of a text. */
export function heldEmbeddings(): HeldEmbeddings {
  let allowed = 0;
  let changed = Promise.withResolvers<void>();
  const server = openAiServer(async ({ path, body }, signal) => {
    if (path === "/v1/models") return modelList("tiny-embedding");
    if (path !== "/v1/embeddings") return undefined;
    const input: string[] = Object(body).input;
    if (input.length > 1) {
      while (allowed === 0) await changed.promise;
      // Who was killed meanwhile does not hear it.
      if (!signal.aborted) allowed--;
    }
    const data = input.map((text, index) => ({ index, embedding: [1, text.length, index] }));
    return Response.json({ data, usage: { prompt_tokens: 1, total_tokens: 1 } });
  });
  return {
    ...server,
    allow(requests) {
      allowed += requests;
      changed.resolve();
      changed = Promise.withResolvers<void>();
    },
  };
}
