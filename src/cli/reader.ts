/** `paddock reader` (internal): reads and splits documents for its parent process. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { cutDocuments } from "../ingest/passages.ts";
import type { FromReader, ToReader } from "../ingest/reading-process.ts";

export interface ReaderChannel {
  send(message: FromReader): void;
  listen(hear: (message: ToReader) => void): void;
}

const page = 256;

export function runReader({ send, listen }: ReaderChannel): void {
  let counted = (_tokens: readonly number[]): void => {};
  const countTokens = (texts: string[]): Promise<readonly number[]> =>
    new Promise((resolve) => {
      counted = resolve;
      send({ type: "count", texts });
    });
  // The node ends this process to stop it.
  const { signal } = new AbortController();
  listen(async (message) => {
    if (message.type === "counted") {
      counted(message.tokens);
      return;
    }
    const { documents, options, maxTokens, overlapTokens } = message;
    try {
      const cutting = { maxTokens, overlapTokens, countTokens, signal };
      const outcomes = await cutDocuments(documents, options, cutting);
      const chunks = outcomes.flatMap((outcome, of) =>
        outcome instanceof NodeError ? [] : outcome.map((chunk) => ({ ...chunk, of })),
      );
      for (let start = 0; start < chunks.length; start += page) {
        send({ type: "chunks", chunks: chunks.slice(start, start + page) });
      }
      const refusals = outcomes.flatMap((outcome, of) =>
        outcome instanceof NodeError ? [{ of, kind: outcome.kind, message: outcome.message }] : [],
      );
      send({ type: "cut", refusals });
    } catch (error) {
      send({ type: "failed", message: reasonOf(error) });
    }
  });
  send({ type: "listening" });
}
