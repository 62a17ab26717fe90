/** Reads a file forward through a window in memory, never beyond its end or a given limit. */
import { type FileHandle, open } from "node:fs/promises";

const windowBytes = 1 << 20;

export class ByteCursor implements AsyncDisposable {
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
