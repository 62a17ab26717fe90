/** `paddock reader` (internal): reads and splits documents for its parent process. */
import { reasonOf } from "../core/errors.ts";
import { cutDocument } from "../ingest/passages.ts";
import { isUnreadable } from "../ingest/readers/limits.ts";
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
    const { name, bytes, options, maxTokens, overlapTokens } = message;
    try {
      const cutting = { maxTokens, overlapTokens, countTokens, signal };
      const chunks = await cutDocument(name, bytes, options, cutting);
      for (let start = 0; start < chunks.length; start += page) {
        send({ type: "chunks", chunks: chunks.slice(start, start + page) });
      }
      send({ type: "cut" });
    } catch (error) {
      const message = reasonOf(error);
      if (!isUnreadable(error)) send({ type: "failed", message });
      else send({ type: "refused", isUnsupported: error.kind !== "invalid_request", message });
    }
  });
  send({ type: "listening" });
}
