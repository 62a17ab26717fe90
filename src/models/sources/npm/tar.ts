/**
 * Streaming tar reader. Written by hand: Bun.Archive holds the whole archive in memory, which may
 * be gigabytes for a model, and node-tar brings five packages to unpack into folders.
 */
import { NodeError } from "../../../core/errors.ts";

interface TarEntry {
  /** Without the archive's top folder. */
  name: string;
  size: number;
}

/** Returns a writer for an entry's bytes, or undefined to skip it. */
export type EntrySink = (entry: TarEntry) => ((bytes: Uint8Array) => Promise<void>) | undefined;

const block = 512;
/** A package has a few thousand. */
const mostEntries = 200_000;
/** Size limit of an entry that holds a long name. */
const longestName = 1 << 16;

export class TarReader {
  readonly #sinkFor: EntrySink;
  #entries = 0;
  #header = new Uint8Array(0);
  #left = 0;
  #padding = 0;
  #sink: ((bytes: Uint8Array) => Promise<void>) | undefined;
  /** Name and size of the next entry, if an extended header gives them. */
  #next: { name?: string; size?: number } = {};

  constructor(sinkFor: EntrySink) {
    this.#sinkFor = sinkFor;
  }

  async push(chunk: Uint8Array): Promise<void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const bytes = rest.subarray(0, Math.min(this.#left, rest.length));
        this.#left -= bytes.length;
        await this.#sink?.(bytes);
        rest = rest.subarray(bytes.length);
      } else if (this.#padding > 0) {
        const skipped = Math.min(this.#padding, rest.length);
        this.#padding -= skipped;
        rest = rest.subarray(skipped);
      } else {
        const wanted = block - this.#header.length;
        this.#header = Buffer.concat([this.#header, rest.subarray(0, wanted)]);
        rest = rest.subarray(wanted);
        if (this.#header.length === block) this.#begin();
      }
    }
  }

  finish(): void {
    if (this.#left + this.#padding + this.#header.length > 0) throw broken();
  }

  #begin(): void {
    const header = this.#header;
    this.#header = new Uint8Array(0);
    if (header.every((byte) => byte === 0)) return; // the end, or padding after it
    if (++this.#entries > mostEntries || !isHeader(header)) throw broken();
    const type = String.fromCharCode(header[156] ?? 0);
    const size = this.#next.size ?? numberIn(header.subarray(124, 136));
    const name = this.#next.name ?? nameIn(header);
    this.#left = size;
    this.#padding = (block - (size % block)) % block;
    this.#sink = undefined;
    if (type === "x" || type === "L") {
      this.#sink = this.#readName(type, size);
      return;
    }
    this.#next = {};
    const isFile = type === "0" || type === "\0";
    if (isFile) this.#sink = this.#sinkFor({ name: name.replace(/^[^/]*\//, ""), size });
  }

  /** pax (`x`) and GNU (`L`) store a long name in an entry before the file's own. */
  #readName(type: string, size: number): (bytes: Uint8Array) => Promise<void> {
    if (size > longestName) throw broken();
    let text = "";
    const decoder = new TextDecoder();
    return async (bytes) => {
      text += decoder.decode(bytes, { stream: true });
      if (this.#left > 0) return;
      if (type === "L") this.#next.name = text.replace(/\0.*$/s, "");
      else {
        const said = (key: string): string | undefined =>
          new RegExp(`(?:^|\\n)\\d+ ${key}=([^\\n]*)\\n`).exec(text)?.[1];
        const [path, length] = [said("path"), said("size")];
        if (path !== undefined) this.#next.name = path;
        if (length !== undefined) this.#next.size = checkedSize(Number(length));
      }
    };
  }
}

function nameIn(header: Uint8Array): string {
  const text = (from: number, to: number): string =>
    new TextDecoder().decode(header.subarray(from, to)).replace(/\0.*$/s, "");
  const isUstar = text(257, 262) === "ustar";
  const prefix = isUstar ? text(345, 500) : "";
  return prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
}

/** Octal digits, or for large files a binary number after a 0x80 byte. */
function numberIn(bytes: Uint8Array): number {
  if (bytes[0] === 0x80) {
    return checkedSize(bytes.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0));
  }
  const digits = new TextDecoder()
    .decode(bytes)
    .replace(/[\0 ]+$/, "")
    .trim();
  return /^[0-7]*$/.test(digits) ? checkedSize(Number.parseInt(digits || "0", 8)) : checkedSize(-1);
}

function checkedSize(size: number): number {
  if (Number.isSafeInteger(size) && size >= 0) return size;
  throw broken();
}

/** Verifies the checksum, in which the checksum field counts as spaces. */
function isHeader(header: Uint8Array): boolean {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  return numberIn(header.subarray(148, 156)) === sum;
}

const broken = (): NodeError =>
  new NodeError("unavailable", "The package's archive is damaged, and nothing of it was stored.");
