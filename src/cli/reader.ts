/** `paddock reader`: reads documents for the command that started it; not for people. */
import { reasonOf } from "../core/errors.ts";
import { chunk } from "../ingest/chunk.ts";
import { isUnreadable } from "../ingest/readers/limits.ts";
import { readDocument } from "../ingest/readers/read.ts";
import type { FromReader, ToReader } from "../ingest/reading-process.ts";

export interface ReaderChannel {
  send(message: FromReader): void;
  listen(hear: (message: ToReader) => void): void;
}

/** Passages in one message. */
const page = 256;

export function runReader({ send, listen }: ReaderChannel): void {
  let counted = (_tokens: number): void => {};
  const countTokens = (text: string): Promise<number> =>
    new Promise((resolve) => {
      counted = resolve;
      send({ type: "count", text });
    });
  listen(async (message) => {
    if (message.type === "counted") {
      counted(message.tokens);
      return;
    }
    const { name, bytes, options, cut } = message;
    try {
      const texts = await readDocument(name, bytes, options);
      if (cut === undefined) {
        send({ type: "read", texts });
        return;
      }
      for (const text of texts) {
        const chunks = await chunk(text, { ...cut, countTokens });
        for (let start = 0; start < chunks.length; start += page) {
          send({ type: "chunks", chunks: chunks.slice(start, start + page) });
        }
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
