/** Walks through the fields of a protobuf message in a file, without reading what nobody asks for. */
import type { FileHandle } from "node:fs/promises";

export interface ProtobufField {
  number: number;
  /** Of a whole number. */
  value?: number;
  /** Of a text, bytes or a message: where they lie in the file. */
  start: number;
  end: number;
}

const windowBytes = 1 << 16;
/** A varint has at most ten bytes, a field's head at most two varints. */
const longestHead = 20;

export class ProtobufFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #size: number;
  #window = new Uint8Array(0);
  #from = 0;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  /** The fields between two places, in the order of the file. */
  async *fields(start: number, end: number): AsyncGenerator<ProtobufField> {
    let at = start;
    while (at < end) {
      await this.#load(at, Math.min(longestHead, this.#size - at));
      const key = this.#varint(at);
      const number = Math.floor(key.value / 8);
      const kind = key.value % 8;
      if (kind === 0) {
        const { value, next } = this.#varint(key.next);
        yield { number, value, start: key.next, end: next };
        at = next;
        continue;
      }
      const length = kind === 2 ? this.#varint(key.next) : undefined;
      const from = length?.next ?? key.next;
      const bytes = length?.value ?? { 1: 8, 5: 4 }[kind];
      if (bytes === undefined || number === 0) throw notRead();
      if (from + bytes > end) throw notRead();
      yield { number, start: from, end: from + bytes };
      at = from + bytes;
    }
  }

  /** Bytes of a field; a text or a list of numbers is never long, and a tensor's own reader says how long it is. */
  async bytes({ start, end }: ProtobufField, most: number): Promise<Uint8Array<ArrayBuffer>> {
    if (end - start > most) throw notRead();
    const bytes = new Uint8Array(end - start);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await this.#file.read(
        bytes,
        filled,
        bytes.length - filled,
        start + filled,
      );
      if (bytesRead === 0) throw notRead();
      filled += bytesRead;
    }
    return bytes;
  }

  async text(field: ProtobufField): Promise<string> {
    return new TextDecoder().decode(await this.bytes(field, 4096));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  async #load(at: number, count: number): Promise<void> {
    if (at >= this.#from && at + count <= this.#from + this.#window.length) return;
    const end = Math.min(this.#size, at + windowBytes);
    this.#window = await this.bytes({ number: 0, start: at, end }, windowBytes);
    this.#from = at;
  }

  #varint(at: number): { value: number; next: number } {
    let value = 0;
    for (let index = 0; index < 10; index++) {
      const byte = this.#window[at - this.#from + index];
      if (byte === undefined) break;
      value += (byte & 127) * 2 ** (7 * index);
      if (byte < 128) return { value, next: at + index + 1 };
    }
    throw notRead();
  }
}

const notRead = (): Error => new Error("The weights' file is cut off, or no protobuf message");
