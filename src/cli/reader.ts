/** `paddock reader`: reads documents for the command that started it; not for people. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { readDocument } from "../ingest/readers/read.ts";
import type { FromReader, ToReader } from "../ingest/reading-process.ts";

export interface ReaderChannel {
  send(message: FromReader): void;
  listen(hear: (message: ToReader) => void): void;
}

export function runReader({ send, listen }: ReaderChannel): void {
  listen(async ({ name, bytes, options }) => {
    try {
      send({ type: "read", texts: await readDocument(name, bytes, options) });
    } catch (error) {
      const isRefusal = error instanceof NodeError && error.kind === "invalid_request";
      send({ type: isRefusal ? "refused" : "failed", message: reasonOf(error) });
    }
  });
  send({ type: "listening" });
}
