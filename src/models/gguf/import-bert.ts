/** Converts a BERT sentence-embedding model (weights, tokenizer, config) to GGUF. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Weights } from "./weights.ts";
import {
  fitsBlocks,
  type Gguf,
  type MetadataValue,
  type Tensor,
  type TensorType,
} from "./write.ts";

const BertConfig = T.Object({
  hidden_size: T.Integer(),
  intermediate_size: T.Integer(),
  layer_norm_eps: T.Number(),
  max_position_embeddings: T.Integer(),
  num_attention_heads: T.Integer(),
  num_hidden_layers: T.Integer({ minimum: 1, maximum: 1000 }),
  type_vocab_size: T.Integer(),
});

const BertTokenizer = T.Object({
  added_tokens: T.Array(T.Object({ id: T.Integer(), content: T.String(), special: T.Boolean() })),
  model: T.Object({ vocab: T.Record(T.String(), T.Integer()), unk_token: T.String() }),
});

export async function importBert(name: string, folder: string, weights: Weights): Promise<Gguf> {
  const readJson = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(join(folder, file), "utf8"));
  const config = Value.Parse(BertConfig, await readJson("config.json"));
  const tokenizer = Value.Parse(BertTokenizer, await readJson("tokenizer.json"));
  const u32 = (value: number): MetadataValue => ({ type: "uint32", value });
  return {
    metadata: {
      "general.architecture": { type: "string", value: "bert" },
      "general.name": { type: "string", value: name },
      "general.file_type": u32(7),
      "general.quantization_version": u32(2),
      "bert.block_count": u32(config.num_hidden_layers),
      "bert.context_length": u32(config.max_position_embeddings),
      "bert.embedding_length": u32(config.hidden_size),
      "bert.feed_forward_length": u32(config.intermediate_size),
      "bert.attention.head_count": u32(config.num_attention_heads),
      "bert.attention.layer_norm_epsilon": { type: "float32", value: config.layer_norm_eps },
      "bert.attention.causal": { type: "bool", value: false },
      "bert.pooling_type": u32(1),
      ...vocabulary(tokenizer, config.type_vocab_size),
    },
    tensors: tensorNames(config.num_hidden_layers).map(([from, to]) => tensor(weights, from, to)),
  };
}

function vocabulary(
  { added_tokens, model }: Static<typeof BertTokenizer>,
  types: number,
): Gguf["metadata"] {
  const special = new Set(added_tokens.filter((token) => token.special).map(({ id }) => id));
  const pieces = Object.entries(model.vocab).sort(([, a], [, b]) => a - b);
  const idOf = (piece: string): MetadataValue => {
    const id = model.vocab[piece];
    if (id === undefined) throw new Error(`The tokenizer has no ${piece}`);
    return { type: "uint32", value: id };
  };
  return {
    "tokenizer.ggml.model": { type: "string", value: "bert" },
    "tokenizer.ggml.pre": { type: "string", value: "jina-v2-en" },
    "tokenizer.ggml.token_type_count": { type: "uint32", value: types },
    "tokenizer.ggml.tokens": {
      type: "strings",
      value: pieces.map(([piece, id]) => (special.has(id) ? piece : toWordStart(piece))),
    },
    "tokenizer.ggml.token_type": {
      type: "int32s",
      value: pieces.map(([piece, id]) => (piece === model.unk_token ? 2 : special.has(id) ? 3 : 1)),
    },
    "tokenizer.ggml.bos_token_id": idOf("[CLS]"),
    "tokenizer.ggml.cls_token_id": idOf("[CLS]"),
    "tokenizer.ggml.eos_token_id": idOf("[SEP]"),
    // llama.cpp's own spelling
    "tokenizer.ggml.seperator_token_id": idOf("[SEP]"),
    "tokenizer.ggml.unknown_token_id": idOf("[UNK]"),
    "tokenizer.ggml.padding_token_id": idOf("[PAD]"),
    "tokenizer.ggml.mask_token_id": idOf("[MASK]"),
  };
}

/** WordPiece marks what continues a word; llama.cpp marks what starts one. */
const toWordStart = (piece: string): string =>
  piece.startsWith("##") ? piece.slice(2) : `\u2581${piece}`;

function tensorNames(layers: number): [from: string, to: string][] {
  const names: [string, string][] = [
    ["embeddings.word_embeddings.weight", "token_embd.weight"],
    ["embeddings.position_embeddings.weight", "position_embd.weight"],
    ["embeddings.token_type_embeddings.weight", "token_types.weight"],
    ["embeddings.LayerNorm.weight", "token_embd_norm.weight"],
    ["embeddings.LayerNorm.bias", "token_embd_norm.bias"],
  ];
  const parts = [
    ["attention.self.query", "attn_q"],
    ["attention.self.key", "attn_k"],
    ["attention.self.value", "attn_v"],
    ["attention.output.dense", "attn_output"],
    ["attention.output.LayerNorm", "attn_output_norm"],
    ["intermediate.dense", "ffn_up"],
    ["output.dense", "ffn_down"],
    ["output.LayerNorm", "layer_output_norm"],
  ] as const;
  for (let layer = 0; layer < layers; layer++) {
    for (const [from, to] of parts) {
      for (const kind of ["weight", "bias"]) {
        names.push([`encoder.layer.${layer}.${from}.${kind}`, `blk.${layer}.${to}.${kind}`]);
      }
    }
  }
  return names;
}

function tensor(weights: Weights, from: string, to: string): Tensor {
  const found = weights.get(from);
  if (found === undefined) throw new Error(`The weights have no tensor '${from}'`);
  const shape = found.shape.toReversed();
  return { name: to, shape, type: typeFor(to, shape), values: found.values };
}

/** Matrices are quantized; vectors, positions and token types are small and would lose more. */
function typeFor(name: string, shape: readonly number[]): TensorType {
  if (shape.length === 1 || name === "position_embd.weight" || name === "token_types.weight") {
    return "f32";
  }
  return fitsBlocks("q8_0", shape[0] ?? 0) ? "q8_0" : "f16";
}
