/**
 * The thread that has the registry of documents to itself: a filter looks at every file of a vector
 * store, and a disk takes its time to say that something is written. Here that holds up nobody.
 */
import { workerData } from "node:worker_threads";
import { answerMethodCalls } from "../thread-calls.ts";
import { DocumentRows } from "./sqlite-documents.ts";

const { path }: { path: string } = workerData;

answerMethodCalls(new DocumentRows(path));
