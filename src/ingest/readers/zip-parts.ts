/** The parts of an Office file or an EPUB, unpacked within bounds: what a file says of its own sizes may be a lie. */
import { crc32, inflateRawSync } from "node:zlib";
import type { NodeError } from "../../core/errors.ts";
import { beyond, type ReadLimits } from "./limits.ts";
import { unreadable } from "./unreadable.ts";
import { type ZipEntry, zipEntries } from "./zip-directory.ts";

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

  /** The bytes of a part; undefined where there is none of this name. */
  find(name: string): Uint8Array | undefined {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry === undefined) return undefined;
    const part = this.#unpacked(entry);
    this.#room -= part.length;
    if (part.length !== entry.size || crc32(part) !== entry.crc) {
      throw new Error(`${entry.name} does not match its checksum`);
    }
    return part;
  }

  /** The bytes of a part that must be there. */
  read(name: string): Uint8Array {
    const part = this.find(name);
    if (part === undefined) throw new Error(`${name} is missing`);
    return part;
  }

  #unpacked(entry: ZipEntry): Uint8Array {
    if (entry.isEncrypted) throw unreadable("is encrypted; save a copy without a password");
    // A bomb that tells the truth is refused before anything is unpacked.
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
