/** Reads what a model's file says of it, without loading the model. */
import { stat } from "node:fs/promises";
import { type GgufFileInfo, GgufFileType, readGgufFileInfo } from "node-llama-cpp";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { ModelFacts } from "../core/model-memory.ts";
import { partsOf } from "../core/split-model.ts";

const rankPooling = 4;
/** The cache holds numbers of 16 bits. */
const cacheNumberBytes = 2;

/** Of a model in several files, any of them may be named. */
export async function readModelFacts(path: string): Promise<ModelFacts> {
  const files = partsOf(path);
  const [first = path] = files;
  try {
    const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
    const info = await readGgufFileInfo(first, { sourceType: "filesystem", logWarnings: false });
    return toFacts(
      info,
      files,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The model file '${path}' cannot be read: ${reasonOf(cause)}. It must be a whole GGUF file.`,
      { cause },
    );
  }
}

function toFacts(info: GgufFileInfo, files: readonly string[], bytes: number): ModelFacts {
  const { metadata, architectureMetadata, fullTensorInfo = [] } = info;
  const { general, tokenizer } = metadata;
  // What the library promises, a file need not keep.
  if (typeof general?.architecture !== "string") throw new Error("it names no architecture");
  const template: unknown = tokenizer?.chat_template;
  return {
    files,
    kind: kindOf(info),
    architecture: general.architecture,
    ...(general.name === undefined ? {} : { name: general.name }),
    parameters: fullTensorInfo.reduce(
      (sum, { dimensions }) =>
        sum + dimensions.reduce<number>((product, size) => product * Number(size), 1),
      0,
    ),
    quantization: quantizationOf(info),
    trainContext: architectureMetadata.context_length ?? 0,
    bytes,
    layers: architectureMetadata.block_count ?? 0,
    hasChatTemplate: typeof template === "string",
    supportsTools: typeof template === "string" && /\btools\b/.test(template),
    cacheBytesPerToken: cacheBytesPerToken(info),
    embeddingLength: architectureMetadata.embedding_length ?? 0,
    vocabularySize: tokenizer?.ggml.tokens?.length ?? architectureMetadata.vocab_size ?? 0,
  };
}

function kindOf({ architectureMetadata }: GgufFileInfo): ModelFacts["kind"] {
  const pooling = Number(architectureMetadata.pooling_type ?? 0);
  if (pooling === rankPooling) return "reranker";
  const readsBothWays = architectureMetadata.attention?.causal === false;
  return pooling > 0 || readsBothWays ? "embedding" : "chat";
}

/** What the file says it is; where it says nothing, what most of its weights are. */
function quantizationOf({ metadata, fullTensorInfo = [] }: GgufFileInfo): string {
  const { file_type: said } = metadata.general;
  const name = said === undefined ? undefined : GgufFileType[said];
  if (name !== undefined) return name.replace(/^(MOSTLY|ALL)_/, "");
  const isHalf = fullTensorInfo.some(({ ggmlType }) => ggmlType === 1);
  const isPlain = fullTensorInfo.every(({ ggmlType }) => ggmlType <= 1);
  if (!isPlain) return "unknown";
  return isHalf ? "F16" : "F32";
}

function cacheBytesPerToken({ architectureMetadata }: GgufFileInfo): number {
  const { attention, block_count: layers = 0, embedding_length: width = 0 } = architectureMetadata;
  // What reads a text both ways reads it at once, and keeps nothing.
  if (attention === undefined || attention.causal === false) return 0;
  const heads = perLayer(attention.head_count, layers);
  const most = Math.max(1, ...heads);
  const keyLength = attention.key_length ?? width / most;
  const valueLength = attention.value_length ?? width / most;
  const cached =
    attention.head_count_kv === undefined ? heads : perLayer(attention.head_count_kv, layers);
  const total = cached.reduce((sum, count) => sum + count, 0);
  return total * (keyLength + valueLength) * cacheNumberBytes;
}

/** Some models say one number for all layers, some one for each. */
function perLayer(value: number | readonly number[] | undefined, layers: number): number[] {
  if (typeof value === "object") return value.slice(0, layers).map(Number);
  return new Array<number>(layers).fill(value ?? 0);
}
