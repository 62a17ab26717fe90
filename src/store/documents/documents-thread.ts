/**
 * The worker thread of the documents registry: a filter reads every file of a vector store, and disk
 * writes take time. Here they do not block the event loop.
 */
import { workerData } from "node:worker_threads";
import { answerMethodCalls } from "../thread-calls.ts";
import { DocumentRows } from "./sqlite-documents.ts";

const { path }: { path: string } = workerData;

answerMethodCalls(new DocumentRows(path));
