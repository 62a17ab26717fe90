/** Reads what a model's file says of it, without loading the model. */

import { GgufFileType } from "node-llama-cpp";
import { given } from "../../core/given.ts";
import type { ModelFacts } from "../machine/model-memory.ts";
import type { GgufValue } from "./header.ts";
import { type ModelPart, readModelParts, unreadable } from "./model-files.ts";

const rankPooling = 4;
/** The KV cache holds numbers of 16 bits. */
const cacheNumberBytes = 2;
/** Refuses nonsense; llama.cpp itself allows 512. */
const mostLayers = 4096;

/** Of a model in several files, any of them may be named. */
export async function readModelFacts(path: string): Promise<ModelFacts> {
  try {
    return toFacts(await readModelParts(path));
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function toFacts(parts: readonly [ModelPart, ...ModelPart[]]): ModelFacts {
  const said = new Metadata(parts[0]);
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
    cacheBytesPerToken: cacheBytesPerToken(said, layers),
    embeddingLength: said.own("embedding_length"),
    vocabularySize: said.length("tokenizer.ggml.tokens") ?? said.own("vocab_size"),
  };
}

/** Typed access to the metadata of a header; a value of another type counts as absent. */
class Metadata {
  readonly architecture: string;
  readonly #entries: ReadonlyMap<string, GgufValue>;

  constructor({ metadata }: ModelPart) {
    this.#entries = metadata;
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

  /** A number that is given once for all layers or for each: its sum over the layers, and the largest. */
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

  /** Whether any key of the architecture begins so. */
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

/** What the file says of itself; where it says nothing, what its tensor types tell. */
function quantizationOf({ fileType }: Metadata, parts: readonly ModelPart[]): string {
  const name = fileType === undefined ? undefined : GgufFileType[fileType];
  if (name !== undefined) return name.replace(/^(MOSTLY|ALL)_/, "");
  const types = new Set(parts.flatMap(({ tensors }) => tensors.map(({ type }) => type)));
  const isPlain = [...types].every((type) => type <= 1);
  if (!isPlain) return "unknown";
  return types.has(1) ? "F16" : "F32";
}

function cacheBytesPerToken(said: Metadata, layers: number): number {
  // A model with bidirectional attention reads a text at once and has no KV cache.
  if (!said.hasKeys("attention.") || said.flag("attention.causal") === false) return 0;
  const width = said.own("embedding_length");
  const heads = said.perLayer("attention.head_count", layers) ?? { total: 0, most: 0 };
  const most = Math.max(1, heads.most);
  const keyLength = said.own("attention.key_length", width / most);
  const valueLength = said.own("attention.value_length", width / most);
  const cached = said.perLayer("attention.head_count_kv", layers) ?? heads;
  return cached.total * (keyLength + valueLength) * cacheNumberBytes;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
