/** Unpacks the parts of an Office file or EPUB within limits: the sizes that a file declares may be false. */
import { crc32, inflateRawSync } from "node:zlib";
import type { NodeError } from "../../../core/errors.ts";
import { beyond, type ReadLimits, unreadable } from "../limits.ts";

/** Any file may unpack to this, whatever its own size. */
const smallBytes = 256 << 10;

const localHeader = 0x04034b50;
const localLength = 30;
const stored = 0;
const deflated = 8;

/** A damaged file is an `Error` that says how; one beyond a limit, or encrypted, a `NodeError`. */
export class ZipParts {
  readonly #zip: Buffer;
  readonly #entries: ReadonlyMap<string, ZipEntry>;
  readonly #refusal: NodeError;
  /** Bytes that may still be unpacked, of all parts together. */
  #room: number;

  constructor(bytes: Uint8Array, limits: ReadLimits) {
    this.#zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // Names of parts are the same whatever their case.
    this.#entries = new Map(
      zipEntries(this.#zip).map((entry) => [entry.name.toLowerCase(), entry]),
    );
    const byRatio = Math.max(smallBytes, limits.max_unpack_ratio * bytes.length);
    this.#room = Math.min(limits.max_unpacked_bytes, byRatio);
    this.#refusal = beyond(
      byRatio < limits.max_unpacked_bytes ? "max_unpack_ratio" : "max_unpacked_bytes",
      limits,
    );
  }

  get names(): string[] {
    return [...this.#entries.values()].map(({ name }) => name);
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** The bytes of a part; undefined if there is none with this name. */
  find(name: string | undefined): Uint8Array | undefined {
    const entry = name === undefined ? undefined : this.#entries.get(name.toLowerCase());
    if (entry === undefined) return undefined;
    const part = this.#unpacked(entry);
    this.#room -= part.length;
    if (part.length !== entry.size || crc32(part) !== entry.crc) {
      throw new Error(`${entry.name} does not match its checksum`);
    }
    return part;
  }

  read(name: string): Uint8Array {
    const part = this.find(name);
    if (part === undefined) throw new Error(`${name} is missing`);
    return part;
  }

  #unpacked(entry: ZipEntry): Uint8Array {
    if (entry.isEncrypted) throw unreadable("is encrypted; save a copy without a password");
    // A zip bomb with true sizes is refused before anything is unpacked.
    if (entry.size > this.#room) throw this.#refusal;
    const packed = this.#packed(entry);
    if (entry.method === stored) return packed;
    if (entry.method !== deflated) {
      throw new Error(`${entry.name} is compressed in a way that is not known`);
    }
    try {
      return inflateRawSync(packed, { maxOutputLength: Math.max(1, this.#room) });
    } catch (cause) {
      const isTooLarge = cause instanceof RangeError && "code" in cause;
      if (isTooLarge && cause.code === "ERR_BUFFER_TOO_LARGE") throw this.#refusal;
      throw cause;
    }
  }

  #packed({ name, offset, packedSize }: ZipEntry): Uint8Array {
    const zip = this.#zip;
    if (offset + localLength > zip.length || zip.readUInt32LE(offset) !== localHeader) {
      throw new Error(`${name} is not where it should be`);
    }
    const start =
      offset + localLength + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28);
    if (start + packedSize > zip.length) throw new Error(`${name} is cut off`);
    return zip.subarray(start, start + packedSize);
  }
}

/** The directory of a zip file: where its entries lie. What it claims is checked against the bytes that are there. */
export interface ZipEntry {
  name: string;
  isEncrypted: boolean;
  method: number;
  crc: number;
  packedSize: number;
  size: number;
  offset: number;
}

/** As many as a zip has without its 64-bit extension; Office and EPUB write dozens or hundreds. */
const mostEntries = 65_535;

const signatures = { end: 0x06054b50, entry: 0x02014b50, locator: 0x07064b50, end64: 0x06064b50 };
const lengths = { end: 22, entry: 46, locator: 20, comment: 0xffff };
const extra64 = 1;
const unknown32 = 0xffffffff;
const unknown16 = 0xffff;

function zipEntries(zip: Buffer): ZipEntry[] {
  const { start, end, shift } = directoryOf(zip);
  const entries: ZipEntry[] = [];
  let at = start;
  while (at + lengths.entry <= end && zip.readUInt32LE(at) === signatures.entry) {
    if (entries.length === mostEntries) throw new Error(`more than ${mostEntries} entries`);
    const [name, extra, comment] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field));
    const nameAt = at + lengths.entry;
    const extraAt = nameAt + (name ?? 0);
    const next = extraAt + (extra ?? 0) + (comment ?? 0);
    if (next > end) break;
    const [size = 0, packedSize = 0, offset = 0] = wide(
      [24, 20, 42].map((field) => zip.readUInt32LE(at + field)),
      zip.subarray(extraAt, extraAt + (extra ?? 0)),
    );
    entries.push({
      name: partName(zip.toString("utf8", nameAt, extraAt)),
      isEncrypted: (zip.readUInt16LE(at + 8) & 1) === 1,
      method: zip.readUInt16LE(at + 10),
      crc: zip.readUInt32LE(at + 16),
      packedSize,
      size,
      offset: offset + shift,
    });
    at = next;
  }
  if (at !== end) throw new Error("its directory is damaged");
  return entries;
}

/** Some writers put backslashes between folders, or a slash before all. */
const partName = (written: string): string => written.replaceAll("\\", "/").replace(/^\/+/, "");

/** Where the directory is, and how far everything lies behind where it says. */
function directoryOf(zip: Buffer): { start: number; end: number; shift: number } {
  const at = endOf(zip);
  let [end, size, offset] = [at, zip.readUInt32LE(at + 12), zip.readUInt32LE(at + 16)];
  if (size === unknown32 || offset === unknown32 || zip.readUInt16LE(at + 10) === unknown16) {
    const locator = at - lengths.locator;
    if (locator >= 0 && zip.readUInt32LE(locator) === signatures.locator) {
      end = number64(zip, locator + 8);
      if (end + 56 > at || zip.readUInt32LE(end) !== signatures.end64) {
        throw new Error("its directory is damaged");
      }
      [size, offset] = [number64(zip, end + 40), number64(zip, end + 48)];
    }
  }
  const start = end - size;
  if (start < offset) throw new Error("its directory is cut off");
  return { start, end, shift: start - offset };
}

/** The record that ends a zip, before a comment of at most 64 KiB. */
function endOf(zip: Buffer): number {
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(signatures.end);
  const last = zip.length - lengths.end;
  const at = last < 0 ? -1 : zip.lastIndexOf(signature, last);
  if (at === -1 || at < last - lengths.comment)
    throw new Error("it has no directory, or is cut off");
  return at;
}

/** Numbers that do not fit 32 bits stand in an extra field, in this order. */
function wide(values: readonly number[], extra: Buffer): number[] {
  if (!values.includes(unknown32)) return [...values];
  let at = 0;
  while (at + 4 <= extra.length) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) !== extra64) {
      at += 4 + length;
      continue;
    }
    let field = at + 4;
    return values.map((value) => {
      if (value !== unknown32 || field + 8 > Math.min(extra.length, at + 4 + length)) return value;
      field += 8;
      return number64(extra, field - 8);
    });
  }
  return [...values];
}

const number64 = (bytes: Buffer, at: number): number =>
  at + 8 <= bytes.length ? Number(bytes.readBigUInt64LE(at)) : Number.MAX_SAFE_INTEGER;
