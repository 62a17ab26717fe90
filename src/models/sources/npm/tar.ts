/** Streaming tar reader: Bun.Archive holds the whole archive in memory, and node-tar brings five packages to unpack into folders. */
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import { nextTurn } from "../../../core/turns.ts";

export interface TarEntry {
  /** Without the archive's top folder. */
  name: string;
  size: number;
  /** To be read to its end, or not at all. */
  content: AsyncIterable<Uint8Array>;
}

const block = 512;
/** A package has a few thousand. */
const mostEntries = 200_000;
/** Thousands of empty ones may come in one piece. */
const entriesInTurn = 64;
/** Size limit of an entry that holds a long name. */
const longestName = 1 << 16;

export async function* tarEntries(archive: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  await using input = new ByteInput(archive);
  let entries = 0;
  /** Name and size of the next entry, if an extended header gives them. */
  let next: { name?: string; size?: number } = {};
  while (await input.hasMore()) {
    const header = await input.read(block);
    if (header.every((byte) => byte === 0)) return await input.skip();
    if (++entries > mostEntries || !isHeader(header)) throw broken();
    if (entries % entriesInTurn === 0) await nextTurn();
    const type = String.fromCharCode(header[156] ?? 0);
    const size = next.size ?? numberIn(header.subarray(124, 136));
    if (type === "x" || type === "L") {
      if (size > longestName) throw broken();
      next = { ...next, ...extendedHeader(type, new TextDecoder().decode(await input.read(size))) };
    } else {
      const name = (next.name ?? nameIn(header)).replace(/^[^/]*\//, "");
      const content = input.stream(size);
      next = {};
      if (type === "0" || type === "\0") yield { name, size, content };
      await Array.fromAsync(content, () => undefined); // what nobody has read
    }
    await input.read((block - (size % block)) % block);
  }
}

class ByteInput implements AsyncDisposable {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async hasMore(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return false;
      this.#chunk = value;
    }
    return true;
  }

  async *stream(length: number): AsyncGenerator<Uint8Array> {
    for (let left = length; left > 0; ) {
      if (!(await this.hasMore())) throw broken();
      const bytes = this.#chunk.subarray(0, left);
      this.#chunk = this.#chunk.subarray(bytes.length);
      left -= bytes.length;
      yield bytes;
    }
  }

  async read(length: number): Promise<Uint8Array> {
    return Buffer.concat(await Array.fromAsync(this.stream(length)));
  }

  /** Reads the rest, which counts for the archive's digest, at no more cost than that. */
  async skip(): Promise<void> {
    while (await this.hasMore()) this.#chunk = new Uint8Array(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
  }
}

/** pax (`x`) and GNU (`L`) store a long name in an entry before the file's own. */
function extendedHeader(type: "x" | "L", text: string): { name?: string; size?: number } {
  if (type === "L") return { name: text.replace(/\0.*$/s, "") };
  const said = (key: string): string | undefined =>
    new RegExp(`(?:^|\\n)\\d+ ${key}=([^\\n]*)\\n`).exec(text)?.[1];
  const size = said("size");
  return given({
    name: said("path"),
    size: size === undefined ? undefined : checkedSize(Number(size)),
  });
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
