/** Reads a model's metadata from its files without loading it; checks that they are complete. */
import { stat } from "node:fs/promises";
import { byteSize } from "../../core/byte-size.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import {
  type CacheType,
  type ContextSettings,
  contextDefaults,
  type LoraAdapter,
} from "../../core/models/model.ts";
import { missingParts, partsOf } from "../../core/models/model-files.ts";
import type { ModelFacts } from "../machine/model-memory.ts";
import { type GgufHeader, type GgufTensor, type GgufValue, readGgufHeader } from "./header.ts";
import { fileTypes, tensorTypes } from "./types.ts";

const rankPooling = 4;
/** A sanity limit; llama.cpp itself allows 512. */
const mostLayers = 4096;

/** Of a model in several files, any of them may be named. `context`: what its memory depends on. `isWhole`: throws if a part of it is missing. */
export async function readModelFacts(
  path: string,
  context?: ContextSettings,
  { isWhole = false } = {},
): Promise<ModelFacts> {
  try {
    const missing = isWhole ? await missingBytes(path) : 0;
    if (missing > 0) throw new Error(`it is cut off: ${byteSize(missing)} are missing`);
    return await modelFacts(path, context);
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The model file '${path}' cannot be read: ${reasonOf(cause)}. It must be a whole GGUF file.`,
      { cause },
    );
  }
}

/** The same, with errors that do not name the file. */
export async function modelFacts(path: string, context = contextDefaults): Promise<ModelFacts> {
  const parts = await readModelParts(path);
  const adapters = await Promise.all(context.lora.map(adapterBytes));
  const said = new Metadata(parts[0]?.metadata ?? new Map());
  const template = said.text("tokenizer.chat_template");
  const name = said.text("general.name");
  const layers = said.own("block_count");
  if (layers > mostLayers) throw new Error(`it says that it has ${layers} layers`);
  return {
    files: parts.map(({ file }) => file),
    kind: kindOf(said),
    architecture: said.architecture,
    ...given({ name }),
    parameters: sum(parts.flatMap(({ tensors }) => tensors.map(({ values }) => values))),
    quantization: quantizationOf(said, parts),
    trainContext: said.own("context_length"),
    bytes: sum(parts.map(({ bytes }) => bytes)),
    layers,
    hasChatTemplate: template !== undefined,
    supportsTools: template !== undefined && /\btools\b/.test(template),
    supportsThinking: template !== undefined && /<think>|reasoning_content|thinking/.test(template),
    cacheBytesPerToken: cacheBytesPerToken(said, layers, context),
    attentionScores: attentionScores(said, layers, context),
    adapterBytes: sum(adapters),
    embeddingLength: said.own("embedding_length"),
    vocabularySize: said.length("tokenizer.ggml.tokens") ?? said.own("vocab_size"),
  };
}

async function adapterBytes({ path }: LoraAdapter): Promise<number> {
  const { size } = await stat(path).catch((cause: unknown) => {
    throw new Error(`its LoRA adapter '${path}' cannot be read: ${reasonOf(cause)}`, { cause });
  });
  return size;
}

/** Typed access to the metadata of a header; a value of another type counts as absent. */
class Metadata {
  readonly architecture: string;
  readonly #entries: ReadonlyMap<string, GgufValue>;

  constructor(entries: ReadonlyMap<string, GgufValue>) {
    this.#entries = entries;
    const architecture = this.text("general.architecture");
    if (architecture === undefined) throw new Error("it names no architecture");
    this.architecture = architecture;
  }

  text(key: string): string | undefined {
    const value = this.#entries.get(key);
    return typeof value === "string" ? value : undefined;
  }

  /** A size or a count of the architecture, such as `llama.block_count`. */
  own(key: string): number;
  own<T>(key: string, otherwise: T): number | T;
  own(key: string, otherwise: unknown = 0): unknown {
    const value = this.#entries.get(`${this.architecture}.${key}`);
    return typeof value === "number" ? this.#count(key, value) : otherwise;
  }

  /** A number given once for all layers or per layer: its sum over the layers, and the largest. */
  perLayer(key: string, layers: number): { total: number; most: number } | undefined {
    const value = this.#entries.get(`${this.architecture}.${key}`);
    if (typeof value !== "object") {
      const each = this.own(key, undefined);
      return each === undefined ? undefined : { total: each * layers, most: each };
    }
    const numbers = (value.numbers ?? []).slice(0, layers).map((each) => this.#count(key, each));
    return { total: sum(numbers), most: Math.max(0, ...numbers) };
  }

  flag(key: string): boolean | undefined {
    const value = this.#entries.get(`${this.architecture}.${key}`);
    return typeof value === "boolean" ? value : undefined;
  }

  length(key: string): number | undefined {
    const value = this.#entries.get(key);
    return typeof value === "object" ? value.length : undefined;
  }

  hasKeys(start: string): boolean {
    return this.#entries.keys().some((key) => key.startsWith(`${this.architecture}.${start}`));
  }

  #count(key: string, value: number): number {
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
    throw new Error(`it says that ${this.architecture}.${key} is ${value}`);
  }

  get fileType(): number | undefined {
    const value = this.#entries.get("general.file_type");
    return typeof value === "number" ? value : undefined;
  }
}

function kindOf(said: Metadata): ModelFacts["kind"] {
  const pooling = said.own("pooling_type");
  if (pooling === rankPooling) return "reranker";
  const readsBothWays = said.flag("attention.causal") === false;
  return pooling > 0 || readsBothWays ? "embedding" : "chat";
}

/** The file's own label, else derived from its tensor types. */
function quantizationOf({ fileType }: Metadata, parts: readonly ModelPart[]): string {
  const name = fileType === undefined ? undefined : fileTypes[fileType];
  if (name !== undefined) return name;
  const types = new Set(parts.flatMap(({ tensors }) => tensors.map(({ type }) => type)));
  const isPlain = [...types].every((type) => type <= 1);
  if (!isPlain) return "unknown";
  return types.has(1) ? "F16" : "F32";
}

function cacheBytesPerToken(
  said: Metadata,
  layers: number,
  { cacheTypeK, cacheTypeV }: ContextSettings,
): number {
  // A model with bidirectional attention reads a text at once and has no KV cache.
  if (!said.hasKeys("attention.") || said.flag("attention.causal") === false) return 0;
  const width = said.own("embedding_length");
  const heads = said.perLayer("attention.head_count", layers) ?? { total: 0, most: 0 };
  const most = Math.max(1, heads.most);
  const keyLength = said.own("attention.key_length", width / most);
  const valueLength = said.own("attention.value_length", width / most);
  const cached = said.perLayer("attention.head_count_kv", layers) ?? heads;
  const keyBytes = bytesOf(tensorTypes[ggmlNames[cacheTypeK]].number, keyLength);
  const valueBytes = bytesOf(tensorTypes[ggmlNames[cacheTypeV]].number, valueLength);
  return cached.total * (keyBytes + valueBytes);
}

/** llama.cpp's names of what a KV cache is stored as. */
export const ggmlNames = {
  f16: "F16",
  q8_0: "Q8_0",
  q4_0: "Q4_0",
} as const satisfies Record<CacheType, keyof typeof tensorTypes>;

/** Without flash attention, the scores of every head and the mask are in memory. */
function attentionScores(
  said: Metadata,
  layers: number,
  { flashAttention }: ContextSettings,
): number {
  if (flashAttention !== "off") return 0;
  return (said.perLayer("attention.head_count", layers)?.most ?? 0) + 1;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

interface ModelPart extends GgufHeader {
  file: string;
  bytes: number;
}

/** The first one first; of a model in several files, any of them may be named. */
async function readModelParts(path: string): Promise<ModelPart[]> {
  const files = partsOf(path);
  const found = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  const missing = files.filter((_, at) => found[at] === undefined);
  if (missing.length > 0) throw new Error(missingParts(missing, files.length));
  // Who opens a pipe waits until somebody writes to it.
  if (!found.every((each) => each?.isFile())) throw new Error("it is not a file");
  const parts: ModelPart[] = [];
  // One after the other, since each header may take as much memory as the limit allows.
  for (const [at, file] of files.entries()) {
    parts.push({ file, bytes: found[at]?.size ?? 0, ...(await readGgufHeader(file)) });
    const said = parts[0]?.metadata.get("split.count");
    if (typeof said !== "number" || said <= 1 || said === files.length) continue;
    throw new Error(
      `it is a part of a model in ${said} files; give them their names (…-00001-of-${String(said).padStart(5, "0")}.gguf) and name one of them`,
    );
  }
  return parts;
}

/** Bytes missing from all files together; 0 if they are complete. */
export async function missingBytes(path: string): Promise<number> {
  const missing = (await readModelParts(path)).map(({ tensors, dataStart, bytes }) => {
    const end = tensors.reduce((most, tensor) => Math.max(most, dataStart + endOf(tensor)), 0);
    return Math.max(0, end - bytes);
  });
  return sum(missing);
}

const endOf = ({ offset, values, type }: GgufTensor): number => offset + bytesOf(type, values);

const byNumber = new Map<number, { block: number; bytes: number }>(
  Object.values(tensorTypes).map((type) => [type.number, type]),
);

/** A tensor of an unknown type counts as one byte: the file must reach its start. */
function bytesOf(type: number, values: number): number {
  const { block, bytes } = byNumber.get(type) ?? { block: values, bytes: 1 };
  return (values / block) * bytes;
}
