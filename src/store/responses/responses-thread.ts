/**
 * The thread that has the file of stored responses to itself: a response may be megabytes, and a disk
 * takes its time to say that they are written. Here that keeps nobody else from their turn.
 */
import { workerData } from "node:worker_threads";
import type { TidiedResponses } from "../../core/ports/response-store.ts";
import { answerCalls } from "../thread-calls.ts";
import { type ResponseRow, ResponseRows, type RowBounds, type RowChange } from "./response-rows.ts";
import { type FormerOwners, ResponsesFile } from "./responses-file.ts";

export type ResponseCall = { bounds: RowBounds } & (
  | { type: "save"; row: ResponseRow }
  | { type: "change"; id: string; change: RowChange }
  | { type: "find"; id: string; owner: string | null }
  | { type: "delete"; id: string; owner: string | null }
  | { type: "countUnfinished" }
  | { type: "failUnfinished"; failure: string }
  | { type: "tidy" }
  | { type: "close" }
);

/** What there is to say of a call. */
export interface ResponseResult {
  /** What was found. */
  row?: ResponseRow;
  /** Whether it was changed or deleted. */
  isDone?: boolean;
  /** How many are not finished, or have failed. */
  count?: number;
  tidied?: TidiedResponses;
}

/** What it is given at its start. */
export interface ResponsesThreadData {
  path: string;
  formerOwners: FormerOwners;
}

const { path, formerOwners }: ResponsesThreadData = workerData;
const file = new ResponsesFile(path, formerOwners);
const rows = new ResponseRows(file);

answerCalls<ResponseCall, ResponseResult>(perform, ({ type }) => type === "close");

function perform(call: ResponseCall): ResponseResult {
  const { bounds } = call;
  switch (call.type) {
    case "save":
      rows.save(call.row, bounds);
      return {};
    case "change":
      return { isDone: rows.change(call.id, call.change, bounds) };
    case "find": {
      const row = rows.find(call.id, call.owner, bounds);
      return row === undefined ? {} : { row };
    }
    case "delete":
      return { isDone: rows.delete(call.id, call.owner, bounds) };
    case "countUnfinished":
      return { count: rows.countUnfinished() };
    case "failUnfinished":
      return { count: rows.failUnfinished(call.failure) };
    case "tidy":
      return { tidied: rows.tidy(bounds) };
    case "close":
      file[Symbol.dispose]();
      return {};
  }
}
