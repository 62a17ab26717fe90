/** Reads tensors out of a safetensors file, one at a time. */
import { type FileHandle, open } from "node:fs/promises";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

const Entry = T.Object({
  dtype: T.String(),
  shape: T.Array(T.Integer()),
  data_offsets: T.Tuple([T.Integer(), T.Integer()]),
});
const Header = T.Record(T.String(), T.Union([Entry, T.Record(T.String(), T.String())]));

export interface SafetensorsEntry {
  dtype: string;
  shape: readonly number[];
  start: number;
  end: number;
}

export class SafetensorsFile implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #entries: ReadonlyMap<string, SafetensorsEntry>;

  private constructor(file: FileHandle, entries: ReadonlyMap<string, SafetensorsEntry>) {
    this.#file = file;
    this.#entries = entries;
  }

  static async open(path: string): Promise<SafetensorsFile> {
    const file = await open(path, "r");
    try {
      const length = Number((await readBytes(file, 0, 8)).getBigUint64(0, true));
      const text = new TextDecoder().decode(await readBytes(file, 8, length));
      const header = Value.Decode(Header, JSON.parse(text));
      const entries = new Map<string, SafetensorsEntry>();
      for (const [name, entry] of Object.entries(header)) {
        if (!Value.Check(Entry, entry)) continue; // __metadata__
        const [start, end] = entry.data_offsets;
        const base = 8 + length;
        const { dtype, shape } = entry;
        entries.set(name, { dtype, shape, start: base + start, end: base + end });
      }
      return new SafetensorsFile(file, entries);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  entry(name: string): SafetensorsEntry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new Error(`The weights have no tensor '${name}'`);
    return entry;
  }

  async values(name: string): Promise<Float32Array> {
    const { dtype, start, end } = this.entry(name);
    const { buffer } = await readBytes(this.#file, start, end - start);
    if (dtype === "F32") return new Float32Array(buffer);
    if (dtype === "F16") return Float32Array.from(new Float16Array(buffer));
    throw new Error(`Tensor '${name}' is stored as ${dtype}; F32 and F16 are read`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

async function readBytes(
  file: FileHandle,
  position: number,
  length: number,
): Promise<DataView<ArrayBuffer>> {
  // Checked before allocating: the length comes from the file.
  const isThere = length >= 0 && position + length <= (await file.stat()).size;
  const bytes = new Uint8Array(isThere ? length : 0);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
  if (bytesRead !== length) throw new Error("The weights' file is shorter than its header says");
  return new DataView(bytes.buffer);
}
