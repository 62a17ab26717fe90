/** Downloads a file: resumes, retries with backoff, and renames it once its digest is right. */
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { byteSize } from "../../core/byte-size.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Progress } from "../../core/progress.ts";
import { makePrivateFolder, sizeOf } from "../files.ts";
import { hashOf, wrongDigest } from "./digest.ts";
import {
  type IdleOptions,
  RetryableError,
  refuse,
  type SourceResponse,
  type Subject,
  sendRequest,
  unreachable,
  withIdleTimeout,
  withRetries,
} from "./http-request.ts";
import {
  checkLength,
  checkRoom,
  freeBytes,
  headLength,
  headProblem,
  lockDownload,
  PartialFile,
  type PartNote,
} from "./partial-file.ts";

export interface FetchOptions extends IdleOptions {
  subject: Subject;
  sha256?: string;
  progress: Progress;
  /** The first pause of the backoff; default: half a second. */
  pauseMs?: number;
  /** Disk space that a file of unknown length must leave free; default: 1 GB. */
  reserveBytes?: number;
}

const mostTries = 4;
/** New bytes in an attempt that count as progress. */
const progressBytes = 1_000_000;

/** Returns the file's sha256; undefined if the file exists already. */
export async function fetchFile(
  url: string,
  path: string,
  options: FetchOptions,
): Promise<string | undefined> {
  const { subject, signal, progress } = options;
  await makePrivateFolder(dirname(path));
  using lock = await lockDownload(path, signal, progress);
  if ((await sizeOf(path)) !== undefined) {
    lock.done();
    return undefined;
  }
  const partial = new PartialFile(path);
  let furthest = 0;
  const fetching = withRetries(() => attempt(url, partial, options), {
    ...options,
    mostTries,
    async hasProgressed() {
      const { bytes } = await partial.read();
      if (bytes < furthest + progressBytes) return false;
      furthest = bytes;
      return true;
    },
    async giveUp(last) {
      const { bytes } = await partial.read();
      const saved = ` ${byteSize(bytes)} are saved; the next try goes on from there.`;
      return unreachable(subject, last, bytes > 0 ? saved : "");
    },
  });
  try {
    return await fetching;
  } finally {
    if ((await partial.read()).bytes === 0) lock.done();
  }
}

async function attempt(url: string, partial: PartialFile, options: FetchOptions): Promise<string> {
  const { subject, reserveBytes = 1e9 } = options;
  const { bytes, note } = await partial.read();
  const canResume = bytes > 0 && (note.etag !== undefined || note.digest !== undefined);
  const from = canResume ? bytes : 0;
  // Hashed before the request: a server would not wait for that.
  const hashed = from === 0 ? new Bun.CryptoHasher("sha256") : await hashOf(partial.path);
  return await withIdleTimeout(url, options, async (signal, heard) => {
    const answer = await sendRequest({
      url,
      hub: subject.hub,
      signal,
      headers: rangeOf(from, note),
    });
    await refuse(answer, subject);
    const digest = options.sha256 ?? answer.digest;
    const isAnother = from > 0 && note.digest !== undefined && note.digest !== digest;
    const verdict: Verdict = isAnother
      ? { type: "restart" }
      : judge(answer.response, { ...note, bytes: from });
    if (verdict.type === "whole")
      return await complete(partial, { hash: hashed, bytes, digest }, subject);
    if (verdict.type === "restart") {
      await answer.response.body?.cancel();
      await partial.remove();
      return await attempt(url, partial, options);
    }
    const { start, total } = verdict;
    const folder = dirname(partial.path);
    checkLength(answer, total, digest);
    await checkRoom(folder, (total ?? 0) - start, subject.source);
    if (start === 0) {
      const etag = answer.response.headers.get("etag") ?? undefined;
      // A weak tag does not promise the same bytes.
      await partial.begin(
        given({ total, etag: etag?.startsWith("W/") ? undefined : etag, digest }),
      );
    }
    const name = basename(partial.path, ".part");
    const label = start === 0 ? `Downloading ${name}` : `Going on with ${name}`;
    const step = options.progress.step(label, total ?? 0, "bytes", start);
    // Of a file of unknown length, so much that the reserve stays free on the disk.
    const most = total ?? Math.max(0, (await freeBytes(folder)) - reserveBytes) + start;
    const hash = start === 0 ? new Bun.CryptoHasher("sha256") : hashed;
    try {
      const end = await receive(answer, partial, { start, total, most }, (chunk, bytes) => {
        heard(chunk.length);
        hash.update(chunk);
        step.update(bytes);
      });
      const sha256 = await complete(partial, { hash, bytes: end, digest }, subject);
      step.finish(byteSize(end));
      return sha256;
    } catch (error) {
      step.finish("not whole");
      throw error;
    }
  });
}

async function receive(
  { response, url }: SourceResponse,
  partial: PartialFile,
  { start, total, most }: { start: number; total: number | undefined; most: number },
  onChunk: (chunk: Uint8Array, end: number) => void,
): Promise<number> {
  const { host } = new URL(url);
  await using file = await open(partial.path, "a");
  let end = start;
  let head = new Uint8Array();
  for await (const chunk of chunksOf(response, host)) {
    if (end < headLength) {
      head = Buffer.concat([head, chunk]);
      if (head.length >= headLength) await partial.dropFor(headProblem(head, host));
    }
    end += chunk.length;
    if (end > most) await partial.dropFor(tooLong(host, total));
    await write(file, chunk);
    onChunk(chunk, end);
  }
  if (total !== undefined && end < total) {
    throw new RetryableError(`${host} ended the file after ${end} of ${total} bytes`);
  }
  if (end < headLength) await partial.dropFor(headProblem(head, host));
  return end;
}

async function* chunksOf(response: Response, host: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response.body ?? []) yield chunk;
  } catch (cause) {
    throw new RetryableError(`the connection to ${host} broke off`, { cause });
  }
}

async function complete(
  partial: PartialFile,
  { hash, bytes, digest }: { hash: Bun.CryptoHasher; bytes: number; digest: string | undefined },
  { source }: Subject,
): Promise<string> {
  const sha256 = hash.digest("hex");
  if (digest !== undefined && sha256 !== digest) {
    await partial.dropFor(wrongDigest(source, sha256, digest));
  }
  await partial.finish(bytes);
  return sha256;
}

function rangeOf(bytes: number, { etag, digest }: PartNote): Record<string, string> {
  if (bytes === 0) return {};
  const range = { range: `bytes=${bytes}-` };
  // With a digest, the version is checked at the end, so the ETag does not matter.
  return digest !== undefined || etag === undefined ? range : { ...range, "if-range": etag };
}

async function write(file: FileHandle, chunk: Uint8Array): Promise<void> {
  try {
    await file.writeFile(chunk);
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The model cannot be stored: ${reasonOf(cause)}. What came is saved; make room and try again.`,
      { cause },
    );
  }
}

const tooLong = (host: string, total: number | undefined): NodeError =>
  new NodeError(
    "unavailable",
    total === undefined
      ? `${host} does not say how long the file is, and too little room is left on the disk for more of it. Make room, or fetch the file by other means and name its path.`
      : `${host} sends more than the ${total} bytes it promised.`,
  );

/** A partial download: `bytes` were downloaded before, and the range after them was requested. */
export type Known = Pick<PartNote, "total" | "etag"> & { bytes: number };

type Verdict =
  /** Write the bytes at `start`; 0: the download begins again. */
  | { type: "write"; start: number; total?: number }
  | { type: "whole" }
  /** It does not fit the partial download: request the whole file. */
  | { type: "restart" };

export function judge({ status, headers }: Response, known: Known): Verdict {
  const range = readRange(headers.get("content-range"));
  if (status === 416) {
    // No range was requested, so requesting the whole file again would not help.
    if (known.bytes === 0) throw lie("it refuses a range (416) where none was asked for");
    return range?.total === known.bytes ? { type: "whole" } : { type: "restart" };
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
    if (isAnother) return { type: "restart" };
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
