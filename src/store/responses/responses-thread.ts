/**
 * The thread that has the file of stored responses to itself: a response may be megabytes, and a disk
 * takes its time to say that they are written. Here that keeps nobody else from their turn.
 */
import { workerData } from "node:worker_threads";
import { answerMethodCalls } from "../thread-calls.ts";
import { type FormerOwners, ResponseRows } from "./response-rows.ts";

const { path, formerOwners }: { path: string; formerOwners: FormerOwners } = workerData;

answerMethodCalls(new ResponseRows(path, formerOwners));
