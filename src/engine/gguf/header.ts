/** Reads a GGUF header with limits on every count in it: the file is untrusted, and it is read in the node's process. */
export type GgufValue = string | number | boolean | GgufArray;

interface GgufArray {
  length: number;
  /** Absent if the items are strings, or too many to read. */
  numbers?: readonly number[];
}

export interface GgufTensor {
  values: number;
  type: number;
  offset: number;
  /** Position of `type` in the file; `offset` follows it. */
  typeAt: number;
}

export interface GgufHeader {
  /** Without texts longer than `longestText`. */
  metadata: ReadonlyMap<string, GgufValue>;
  tensors: readonly GgufTensor[];
  /** Every tensor begins at a multiple of it. */
  alignment: number;
  dataStart: number;
}

/** Several times what the largest models have. The error names the limit that was exceeded. */
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
/** Numbers of one list, and of all lists together, that are read. */
const mostNumbers = { list: 4096, all: 65_536 };
const textType = 8;
const arrayType = 9;

interface Scalar<Value = number | boolean> {
  bytes: number;
  read: (view: DataView, at: number) => Value;
}

const uint32: Scalar<number> = { bytes: 4, read: (view, at) => view.getUint32(at, true) };
const uint64: Scalar<number> = {
  bytes: 8,
  read: (view, at) => Number(view.getBigUint64(at, true)),
};

const scalars: Readonly<Record<number, Scalar>> = {
  0: { bytes: 1, read: (view, at) => view.getUint8(at) },
  1: { bytes: 1, read: (view, at) => view.getInt8(at) },
  2: { bytes: 2, read: (view, at) => view.getUint16(at, true) },
  3: { bytes: 2, read: (view, at) => view.getInt16(at, true) },
  4: uint32,
  5: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  6: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  7: { bytes: 1, read: (view, at) => view.getUint8(at) !== 0 },
  10: uint64,
  11: { bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  12: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
};

export async function readGgufHeader(path: string): Promise<GgufHeader> {
  return await new HeaderReader(path).read();
}

const windowBytes = 1 << 20;

/** Reads a file forward through a window in memory, never beyond its end or the limit of a header. */
class HeaderReader {
  readonly #file: Bun.BunFile;
  readonly #size: number;
  /** Where the window begins in the file, and the next byte in the window. */
  #start = 0;
  #at = 0;
  #view = new DataView(new ArrayBuffer(0));
  #items = 0;
  #numbers = 0;

  constructor(path: string) {
    this.#file = Bun.file(path);
    this.#size = this.#file.size;
  }

  async read(): Promise<GgufHeader> {
    if ((await this.#text(4)) !== "GGUF") throw new Error("it does not begin as a GGUF does");
    const version = await this.#uint32();
    if (version !== 2 && version !== 3) {
      throw new Error(`it is a GGUF of version ${version}, and those of 2 and 3 are read`);
    }
    const tensorCount = bounded(await this.#uint64(), ggufLimits.tensors, "tensors");
    const keyCount = bounded(await this.#uint64(), ggufLimits.keys, "keys");
    const metadata = new Map<string, GgufValue>();
    const seen = new Set<string>();
    for (let at = 0; at < keyCount; at++) {
      const key = await this.#text(await this.#nameLength());
      if (seen.has(key)) throw new Error(`its header has the key '${key.slice(0, 100)}' twice`);
      seen.add(key);
      const value = await this.#value(await this.#uint32());
      if (value !== undefined) metadata.set(key, value);
    }
    const tensors: GgufTensor[] = [];
    for (let at = 0; at < tensorCount; at++) tensors.push(await this.#tensor());
    const alignment = alignmentOf(metadata);
    const dataStart = Math.ceil((this.#start + this.#at) / alignment) * alignment;
    return { metadata, tensors, alignment, dataStart };
  }

  async #value(type: number): Promise<GgufValue | undefined> {
    if (type === arrayType) return await this.#array();
    if (type !== textType) return await this.#scalar(scalarOf(type));
    const length = await this.#uint64();
    if (length <= longestText) return await this.#text(length);
    this.#skip(length);
    return undefined;
  }

  async #array(): Promise<GgufArray> {
    const type = await this.#uint32();
    // llama.cpp loads no file that has nested lists.
    if (type === arrayType) throw new Error("its header has lists within lists");
    const length = await this.#uint64();
    this.#items = bounded(this.#items + length, ggufLimits.items, "list items");
    if (type === textType) {
      for (let at = 0; at < length; at++) {
        // Checked first, so that long lists need no promise per item.
        if (!this.#has(8)) await this.#load(8);
        this.#skip(this.#take(uint64));
      }
      return { length };
    }
    const scalar = scalarOf(type);
    if (length > Math.min(mostNumbers.list, mostNumbers.all - this.#numbers)) {
      this.#skip(length * scalar.bytes);
      return { length };
    }
    this.#numbers += length;
    const numbers: number[] = [];
    for (let at = 0; at < length; at++) numbers.push(Number(await this.#scalar(scalar)));
    return { length, numbers };
  }

  async #tensor(): Promise<GgufTensor> {
    this.#skip(await this.#nameLength());
    const dimensions = bounded(await this.#uint32(), ggufLimits.dimensions, "dimensions");
    let values = 1;
    for (let at = 0; at < dimensions; at++) values *= await this.#uint64();
    const typeAt = this.#start + this.#at;
    const type = await this.#uint32();
    const offset = await this.#uint64();
    if (Number.isSafeInteger(values) && Number.isSafeInteger(offset)) {
      return { values, type, offset, typeAt };
    }
    throw new Error("its header has a tensor that no file could hold");
  }

  async #nameLength(): Promise<number> {
    return bounded(await this.#uint64(), ggufLimits.nameBytes, "bytes in a name");
  }

  async #text(length: number): Promise<string> {
    if (!this.#has(length)) await this.#load(length);
    const text = decoder.decode(new Uint8Array(this.#view.buffer, this.#at, length));
    this.#at += length;
    return text;
  }

  #uint32(): Promise<number> {
    return this.#scalar(uint32);
  }

  #uint64(): Promise<number> {
    return this.#scalar(uint64);
  }

  async #scalar<Value>(scalar: Scalar<Value>): Promise<Value> {
    if (!this.#has(scalar.bytes)) await this.#load(scalar.bytes);
    return this.#take(scalar);
  }

  #has(count: number): boolean {
    return this.#at + count <= this.#view.byteLength;
  }

  #take<Value>({ bytes, read }: Scalar<Value>): Value {
    const value = read(this.#view, this.#at);
    this.#at += bytes;
    return value;
  }

  #skip(count: number): void {
    this.#check(count);
    this.#at += count;
  }

  async #load(count: number): Promise<void> {
    this.#check(count);
    const start = this.#start + this.#at;
    const wanted = this.#file.slice(start, start + Math.max(count, windowBytes));
    const view = new DataView(await wanted.arrayBuffer());
    // The file may have been truncated meanwhile.
    if (view.byteLength < count) throw cutOff();
    this.#view = view;
    this.#start = start;
    this.#at = 0;
  }

  #check(count: number): void {
    const end = this.#start + this.#at + count;
    if (end > this.#size) throw cutOff();
    const { headerBytes: most } = ggufLimits;
    if (end > most) throw new Error(`its header is longer than ${most} bytes`);
  }
}

const decoder = new TextDecoder();

const cutOff = (): Error => new Error("its header is cut off");

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

function alignmentOf(metadata: GgufHeader["metadata"]): number {
  const said = metadata.get("general.alignment");
  return typeof said === "number" && said > 0 ? said : usualAlignment;
}
