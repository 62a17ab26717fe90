/** Reads the tensors of a safetensors file, one at a time. */
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Weights } from "./import-bert.ts";

const Entry = T.Object({
  dtype: T.String(),
  shape: T.Array(T.Integer()),
  data_offsets: T.Tuple([T.Integer(), T.Integer()]),
});
const Header = T.Record(T.String(), T.Union([Entry, T.Record(T.String(), T.String())]));

interface SafetensorsEntry {
  dtype: string;
  shape: readonly number[];
  start: number;
  end: number;
}

export class SafetensorsFile implements Weights {
  readonly #path: string;
  readonly #entries: ReadonlyMap<string, SafetensorsEntry>;

  private constructor(path: string, entries: ReadonlyMap<string, SafetensorsEntry>) {
    this.#path = path;
    this.#entries = entries;
  }

  static async open(path: string): Promise<SafetensorsFile> {
    const length = Number(new DataView(await readBytes(path, 0, 8)).getBigUint64(0, true));
    const base = 8 + length;
    const text = new TextDecoder().decode(await readBytes(path, 8, base));
    const entries = new Map<string, SafetensorsEntry>();
    for (const [name, entry] of Object.entries(Value.Decode(Header, JSON.parse(text)))) {
      if (!Value.Check(Entry, entry)) continue; // __metadata__
      const [start, end] = entry.data_offsets;
      const { dtype, shape } = entry;
      entries.set(name, { dtype, shape, start: base + start, end: base + end });
    }
    return new SafetensorsFile(path, entries);
  }

  entry(name: string): SafetensorsEntry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new Error(`The weights have no tensor '${name}'`);
    return entry;
  }

  async values(name: string): Promise<Float32Array> {
    const { dtype, start, end } = this.entry(name);
    const buffer = await readBytes(this.#path, start, end);
    if (dtype === "F32") return new Float32Array(buffer);
    if (dtype === "F16") return Float32Array.from(new Float16Array(buffer));
    throw new Error(`Tensor '${name}' is stored as ${dtype}; F32 and F16 are read`);
  }
}

async function readBytes(path: string, start: number, end: number): Promise<ArrayBuffer> {
  const file = Bun.file(path);
  // Checked before reading: the offsets come from an untrusted file.
  const isThere = start <= end && end <= file.size;
  const bytes = isThere ? await file.slice(start, end).arrayBuffer() : undefined;
  if (bytes?.byteLength === end - start) return bytes;
  throw new Error("The weights' file is shorter than its header says");
}
