/** Reads a GGUF header with limits on every count in it: the file is untrusted, and it is read in the node's process. */
import { type FileHandle, open } from "node:fs/promises";

export type GgufValue = string | number | boolean | GgufArray;

interface GgufArray {
  length: number;
  /** Absent where the items are texts, or too many to be read. */
  numbers?: readonly number[];
}

export interface GgufTensor {
  values: number;
  type: number;
  /** Relative to the start of the data. */
  offset: number;
}

export interface GgufHeader {
  /** Without texts longer than `longestText`. */
  metadata: ReadonlyMap<string, GgufValue>;
  tensors: readonly GgufTensor[];
  /** Where the tensors' data begins in the file. */
  dataStart: number;
}

/** Several times what the largest models have. A header that exceeds one is refused, and the error names it. */
const ggufLimits = {
  headerBytes: 128 * 2 ** 20,
  keys: 65_536,
  tensors: 65_536,
  nameBytes: 65_535,
  /** Items of all lists together: a vocabulary of 262,144 tokens has about 1.3 million. */
  items: 16_777_216,
  dimensions: 4,
} as const;

/** Ten times the size of chat templates; larger texts, such as a whole tokenizer.json, are skipped. */
const longestText = 2 ** 20;
const mostNumbers = 4096;
const textType = 8;
const arrayType = 9;

interface Scalar {
  bytes: number;
  read: (view: DataView, at: number) => number | boolean;
}

const scalars: Readonly<Record<number, Scalar>> = {
  0: { bytes: 1, read: (view, at) => view.getUint8(at) },
  1: { bytes: 1, read: (view, at) => view.getInt8(at) },
  2: { bytes: 2, read: (view, at) => view.getUint16(at, true) },
  3: { bytes: 2, read: (view, at) => view.getInt16(at, true) },
  4: { bytes: 4, read: (view, at) => view.getUint32(at, true) },
  5: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  6: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  7: { bytes: 1, read: (view, at) => view.getUint8(at) !== 0 },
  10: { bytes: 8, read: (view, at) => Number(view.getBigUint64(at, true)) },
  11: { bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  12: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
};

export async function readGgufHeader(path: string): Promise<GgufHeader> {
  await using cursor = await ByteCursor.open(path, ggufLimits.headerBytes);
  return await new HeaderReader(cursor).read();
}

class HeaderReader {
  readonly #cursor: ByteCursor;
  #items = 0;

  constructor(cursor: ByteCursor) {
    this.#cursor = cursor;
  }

  async read(): Promise<GgufHeader> {
    await this.#checkStart();
    const tensorCount = bounded(await this.#uint64(), ggufLimits.tensors, "tensors");
    const keyCount = bounded(await this.#uint64(), ggufLimits.keys, "keys");
    const metadata = new Map<string, GgufValue>();
    const seen = new Set<string>();
    for (let at = 0; at < keyCount; at++) {
      const key = await this.#name();
      if (seen.has(key)) throw new Error(`its header has the key '${key.slice(0, 100)}' twice`);
      seen.add(key);
      const value = await this.#value(await this.#uint32());
      if (value !== undefined) metadata.set(key, value);
    }
    const tensors: GgufTensor[] = [];
    for (let at = 0; at < tensorCount; at++) tensors.push(await this.#tensor());
    return { metadata, tensors, dataStart: align(this.#cursor.position, metadata) };
  }

  async #checkStart(): Promise<void> {
    await this.#need(8);
    const magic = this.#cursor.text(4);
    if (magic !== "GGUF") throw new Error("it does not begin as a GGUF does");
    const version = await this.#uint32();
    if (version === 2 || version === 3) return;
    throw new Error(`it is a GGUF of version ${version}, and those of 2 and 3 are read`);
  }

  async #value(type: number): Promise<GgufValue | undefined> {
    if (type === textType) return await this.#text();
    if (type === arrayType) return await this.#array();
    return await this.#scalar(scalarOf(type));
  }

  async #array(): Promise<GgufArray> {
    const type = await this.#uint32();
    // llama.cpp loads no file that has nested lists.
    if (type === arrayType) throw new Error("its header has lists within lists");
    const length = await this.#uint64();
    this.#items = bounded(this.#items + length, ggufLimits.items, "list items");
    if (type === textType) {
      for (let at = 0; at < length; at++) {
        if (!this.#cursor.has(8)) await this.#cursor.load(8);
        this.#cursor.skip(this.#cursor.take(8, toNumber));
      }
      return { length };
    }
    const scalar = scalarOf(type);
    if (length > mostNumbers) {
      this.#cursor.skip(length * scalar.bytes);
      return { length };
    }
    const numbers: number[] = [];
    for (let at = 0; at < length; at++) numbers.push(Number(await this.#scalar(scalar)));
    return { length, numbers };
  }

  async #tensor(): Promise<GgufTensor> {
    this.#cursor.skip(bounded(await this.#uint64(), ggufLimits.nameBytes, "bytes in a name"));
    const dimensions = bounded(await this.#uint32(), ggufLimits.dimensions, "dimensions");
    let values = 1;
    for (let at = 0; at < dimensions; at++) values *= await this.#uint64();
    const type = await this.#uint32();
    const offset = await this.#uint64();
    if (Number.isSafeInteger(values) && Number.isSafeInteger(offset)) {
      return { values, type, offset };
    }
    throw new Error("its header has a tensor that no file could hold");
  }

  async #text(): Promise<string | undefined> {
    const length = await this.#uint64();
    if (length > longestText) {
      this.#cursor.skip(length);
      return undefined;
    }
    await this.#need(length);
    return this.#cursor.text(length);
  }

  async #name(): Promise<string> {
    const length = bounded(await this.#uint64(), ggufLimits.nameBytes, "bytes in a name");
    await this.#need(length);
    return this.#cursor.text(length);
  }

  async #uint32(): Promise<number> {
    await this.#need(4);
    return this.#cursor.take(4, (view, at) => view.getUint32(at, true));
  }

  async #uint64(): Promise<number> {
    await this.#need(8);
    return this.#cursor.take(8, toNumber);
  }

  async #scalar({ bytes, read }: Scalar): Promise<number | boolean> {
    await this.#need(bytes);
    return this.#cursor.take(bytes, read);
  }

  async #need(count: number): Promise<void> {
    if (!this.#cursor.has(count)) await this.#cursor.load(count);
  }
}

const toNumber = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

function bounded(count: number, most: number, what: string): number {
  if (count <= most) return count;
  throw new Error(`its header has ${count} ${what}, and at most ${most} are read`);
}

function scalarOf(type: number): Scalar {
  const scalar = scalars[type];
  if (scalar === undefined) throw new Error(`its header has a value of the unknown type ${type}`);
  return scalar;
}

const usualAlignment = 32;

function align(position: number, metadata: GgufHeader["metadata"]): number {
  const said = metadata.get("general.alignment");
  const alignment = typeof said === "number" && said > 0 ? said : usualAlignment;
  return Math.ceil(position / alignment) * alignment;
}

const windowBytes = 1 << 20;

/** Reads a file forward through a window in memory, never beyond its end or a given limit. */
class ByteCursor implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #size: number;
  readonly #most: number;
  #start = 0;
  #at = 0;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);

  /** `most`: how many bytes of the file may be read or skipped. */
  static async open(path: string, most: number): Promise<ByteCursor> {
    const file = await open(path, "r");
    try {
      return new ByteCursor(file, (await file.stat()).size, most);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  private constructor(file: FileHandle, size: number, most: number) {
    this.#file = file;
    this.#size = size;
    this.#most = most;
  }

  get position(): number {
    return this.#start + this.#at;
  }

  /** Whether so many bytes are in the window. Callers check first, so that long lists need no promise for each item. */
  has(count: number): boolean {
    return this.#at + count <= this.#bytes.length;
  }

  async load(count: number): Promise<void> {
    const start = this.position;
    this.#check(count);
    const bytes = new Uint8Array(Math.min(Math.max(count, windowBytes), this.#size - start));
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await this.#file.read(
        bytes,
        filled,
        bytes.length - filled,
        start + filled,
      );
      if (bytesRead === 0) break; // the file was truncated meanwhile
      filled += bytesRead;
    }
    if (filled < count) throw cutOff();
    this.#bytes = bytes.subarray(0, filled);
    this.#view = new DataView(bytes.buffer, 0, filled);
    this.#start = start;
    this.#at = 0;
  }

  skip(count: number): void {
    this.#check(count);
    this.#at += count;
  }

  /** Reads the next bytes, which must be in the window, with `read`. */
  take<T>(count: number, read: (view: DataView, at: number) => T): T {
    const value = read(this.#view, this.#at);
    this.#at += count;
    return value;
  }

  text(count: number): string {
    const bytes = this.#bytes.subarray(this.#at, this.#at + count);
    this.#at += count;
    return new TextDecoder().decode(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #check(count: number): void {
    const end = this.position + count;
    if (end > this.#size) throw cutOff();
    if (end > this.#most) throw new Error(`its header is longer than ${this.#most} bytes`);
  }
}

const cutOff = (): Error => new Error("its header is cut off");
