/** A BERT with random weights and a vocabulary of whole pieces, as an embedding model is. */
import type { Gguf, MetadataValue, Tensor } from "../../src/models/gguf/write.ts";
import { type LlamaShape, randomNumbers } from "./random-llama.ts";

const u32 = (value: number): MetadataValue => ({ type: "uint32", value });
const f32 = (value: number): MetadataValue => ({ type: "float32", value });
const text = (value: string): MetadataValue => ({ type: "string", value });

export interface BertShape extends Omit<LlamaShape, "words"> {
  pieces: readonly string[];
  seed: number;
}

/** Tensors of random numbers; `type` is that of the matrices. */
export function tensorMaker(seed: number, type: BertShape["type"] = "f32") {
  const random = randomNumbers(seed);
  const tensor = (
    name: string,
    shape: number[],
    value: () => number,
    of: BertShape["type"] = "f32",
  ): Tensor => ({
    name,
    shape,
    type: of,
    values: () => Float32Array.from({ length: shape.reduce((a, b) => a * b) }, value),
  });
  const weight = (): number => (random() - 0.5) * 0.6;
  return {
    weights: (name: string, ...shape: number[]) => tensor(name, shape, weight, type),
    floats: (name: string, ...shape: number[]) => tensor(name, shape, weight),
    ones: (name: string, size: number) => tensor(name, [size], () => 1),
    zeros: (name: string, size: number) => tensor(name, [size], () => 0),
  };
}

export function randomBert(shape: BertShape): Gguf {
  const { name, size, hidden, layers, heads, context, pieces, seed, type } = shape;
  const { weights, floats, ones, zeros } = tensorMaker(seed, type);
  const specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
  const tokens = [...specials, ...pieces];
  const norm = (name: string): Tensor[] => [
    ones(`${name}.weight`, size),
    zeros(`${name}.bias`, size),
  ];
  const dense = (name: string, from: number, to: number): Tensor[] => [
    weights(`${name}.weight`, from, to),
    zeros(`${name}.bias`, to),
  ];
  return {
    metadata: {
      "general.architecture": text("bert"),
      "general.name": text(name),
      "bert.block_count": u32(layers),
      "bert.context_length": u32(context),
      "bert.embedding_length": u32(size),
      "bert.feed_forward_length": u32(hidden),
      "bert.attention.head_count": u32(heads),
      "bert.attention.layer_norm_epsilon": f32(1e-12),
      "bert.attention.causal": { type: "bool", value: false },
      "bert.pooling_type": u32(1),
      "tokenizer.ggml.model": text("bert"),
      "tokenizer.ggml.pre": text("jina-v2-en"),
      "tokenizer.ggml.token_type_count": u32(2),
      "tokenizer.ggml.tokens": { type: "strings", value: tokens },
      "tokenizer.ggml.token_type": {
        type: "int32s",
        value: tokens.map((_, id) => (id === 1 ? 2 : id < specials.length ? 3 : 1)),
      },
      "tokenizer.ggml.padding_token_id": u32(0),
      "tokenizer.ggml.unknown_token_id": u32(1),
      "tokenizer.ggml.bos_token_id": u32(2),
      "tokenizer.ggml.cls_token_id": u32(2),
      "tokenizer.ggml.eos_token_id": u32(3),
      "tokenizer.ggml.seperator_token_id": u32(3),
      "tokenizer.ggml.mask_token_id": u32(4),
    },
    tensors: [
      weights("token_embd.weight", size, tokens.length),
      floats("position_embd.weight", size, context),
      floats("token_types.weight", size, 2),
      ...norm("token_embd_norm"),
      ...Array.from({ length: layers }, (_, layer) => `blk.${layer}`).flatMap((block) => [
        ...dense(`${block}.attn_q`, size, size),
        ...dense(`${block}.attn_k`, size, size),
        ...dense(`${block}.attn_v`, size, size),
        ...dense(`${block}.attn_output`, size, size),
        ...norm(`${block}.attn_output_norm`),
        ...dense(`${block}.ffn_up`, size, hidden),
        ...dense(`${block}.ffn_down`, hidden, size),
        ...norm(`${block}.layer_output_norm`),
      ]),
    ],
  };
}
