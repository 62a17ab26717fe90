/**
 * The thread that has the registry of documents to itself: a filter looks at every file of a vector
 * store, and a disk takes its time to say that something is written. Here that holds up nobody.
 */
import { workerData } from "node:worker_threads";
import { type ErrorKind, NodeError, reasonOf } from "../../core/errors.ts";
import { answerCalls } from "../thread-calls.ts";
import { DocumentRows, perform, type RegistryCall } from "./sqlite-documents.ts";

export type DocumentsCall = RegistryCall | "close";

export interface DocumentsResult {
  /** What the method returned. */
  value?: unknown;
  /** Why it refused. */
  refusal?: { kind: ErrorKind; message: string; param: string | undefined };
}

const { path }: { path: string } = workerData;
const rows = new DocumentRows(path);

answerCalls<DocumentsCall, DocumentsResult>(resultOf, (call) => call === "close");

function resultOf(call: DocumentsCall): DocumentsResult {
  try {
    if (call !== "close") return { value: perform(rows, call) };
    rows[Symbol.dispose]();
    return {};
  } catch (error) {
    const { kind, param } = error instanceof NodeError ? error : { kind: "internal" as const };
    return { refusal: { kind, message: reasonOf(error), param } };
  }
}
