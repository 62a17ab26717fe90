/** Checks the response to a request for a file or a range of it: where its bytes go, and how many there must be. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";

/** The partial download, and what is known of its file. */
export interface Known {
  /** Bytes that were downloaded before; the range after them was requested. */
  bytes: number;
  total?: number;
  etag?: string;
}

export type Verdict =
  /** Its bytes are written at `start`; 0: the download begins anew. */
  | { type: "write"; start: number; total?: number }
  /** The download is complete already. */
  | { type: "whole" }
  /** It does not fit the partial download: request the whole file. */
  | { type: "anew" };

export function judge({ status, headers }: Response, known: Known): Verdict {
  const range = readRange(headers.get("content-range"));
  if (status === 416) {
    // No range was requested, so requesting the whole file again would not help.
    if (known.bytes === 0) throw lie("it refuses a range (416) where none was asked for");
    return range?.total === known.bytes ? { type: "whole" } : { type: "anew" };
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw lie(`it sends the file compressed (${encoding}), which was not asked for`);
  }
  if (status === 206) {
    if (known.bytes === 0) throw lie("it sends a part of the file where the whole was asked for");
    const etag = headers.get("etag") ?? undefined;
    const isAnother =
      range?.start !== known.bytes || differ(range.total, known.total) || differ(etag, known.etag);
    if (isAnother) return { type: "anew" };
    const total = range.total ?? known.total;
    return { type: "write", start: known.bytes, ...given({ total }) };
  }
  if (status !== 200) throw lie(`it answers ${status}`);
  const length = Number(headers.get("content-length") ?? Number.NaN);
  return { type: "write", start: 0, ...(Number.isSafeInteger(length) ? { total: length } : {}) };
}

const differ = <T>(one: T | undefined, other: T | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

function readRange(text: string | null): { start?: number; total?: number } | undefined {
  const [all, start, , total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(text ?? "") ?? [];
  if (all === undefined) return undefined;
  return {
    ...(start === undefined ? {} : { start: Number(start) }),
    ...(total === undefined || total === "*" ? {} : { total: Number(total) }),
  };
}

const lie = (what: string): NodeError =>
  new NodeError("unavailable", `The server's answer makes no sense: ${what}.`);
