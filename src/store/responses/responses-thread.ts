/**
 * The worker thread of stored responses: a response may have megabytes, and disk writes take time.
 * Here they do not block the event loop.
 */
import { workerData } from "node:worker_threads";
import { answerMethodCalls } from "../thread-calls.ts";
import { type FormerOwners, ResponseRows } from "./response-rows.ts";

const { path, formerOwners }: { path: string; formerOwners: FormerOwners } = workerData;

answerMethodCalls(new ResponseRows(path, formerOwners));
