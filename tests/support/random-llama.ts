/** A llama of any size with random weights: real arithmetic, no meaning. */
import type { Gguf, MetadataValue, Tensor } from "../../src/models/gguf/write.ts";

const u32 = (value: number): MetadataValue => ({ type: "uint32", value });
const f32 = (value: number): MetadataValue => ({ type: "float32", value });
const text = (value: string): MetadataValue => ({ type: "string", value });

export interface LlamaShape {
  name: string;
  size: number;
  hidden: number;
  layers: number;
  heads: number;
  context: number;
  type: "f32" | "q8_0";
  /** Pieces of the vocabulary, besides the specials, the 256 bytes and the printable characters. */
  words: readonly string[];
}

/** A chat template of the plainest kind: a marker for each role, an end token after each message. */
const chatTemplate = [
  // By this marker the engine takes a template as it is, and does not compare it with others for a second.
  "{# <|user|> #}{% for message in messages %}",
  "{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}",
  "{% endfor %}",
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
].join("");

/** Seeded, so that every run has the same model (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function randomLlama(shape: LlamaShape): Gguf {
  const { size, hidden, layers, heads } = shape;
  const random = randomNumbers(7);
  const vocabulary = llamaVocabulary(shape.words);
  const tokens = vocabulary.size;
  const scale = 0.6 * Math.sqrt(32 / size);
  const weights = (name: string, ...dimensions: [number, number]): Tensor => ({
    name,
    shape: dimensions,
    type: shape.type,
    values: () =>
      Float32Array.from({ length: dimensions[0] * dimensions[1] }, () => (random() - 0.5) * scale),
  });
  const ones = (name: string): Tensor => ({
    name,
    shape: [size],
    type: "f32",
    values: () => new Float32Array(size).fill(1),
  });
  const layer = (at: number): Tensor[] => [
    ones(`blk.${at}.attn_norm.weight`),
    weights(`blk.${at}.attn_q.weight`, size, size),
    weights(`blk.${at}.attn_k.weight`, size, size),
    weights(`blk.${at}.attn_v.weight`, size, size),
    weights(`blk.${at}.attn_output.weight`, size, size),
    ones(`blk.${at}.ffn_norm.weight`),
    weights(`blk.${at}.ffn_gate.weight`, size, hidden),
    weights(`blk.${at}.ffn_up.weight`, size, hidden),
    weights(`blk.${at}.ffn_down.weight`, hidden, size),
  ];
  return {
    metadata: {
      "general.architecture": text("llama"),
      "general.name": text(shape.name),
      "llama.block_count": u32(layers),
      "llama.context_length": u32(shape.context),
      "llama.embedding_length": u32(size),
      "llama.feed_forward_length": u32(hidden),
      "llama.attention.head_count": u32(heads),
      "llama.attention.head_count_kv": u32(heads),
      "llama.attention.layer_norm_rms_epsilon": f32(1e-5),
      "llama.rope.dimension_count": u32(size / heads),
      "llama.vocab_size": u32(tokens),
      ...vocabulary.metadata,
    },
    tensors: [
      weights("token_embd.weight", size, tokens),
      ...Array.from({ length: layers }, (_, at) => layer(at)).flat(),
      ones("output_norm.weight"),
      weights("output.weight", size, tokens),
    ],
  };
}

/** Specials, the 256 bytes, then the printable characters and the words: every text has tokens. */
export function llamaVocabulary(words: readonly string[]): {
  size: number;
  metadata: Gguf["metadata"];
} {
  const specials = ["<unk>", "<s>", "</s>"];
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const characters = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at));
  const pieces = [...characters, ...words];
  return {
    size: specials.length + bytes.length + pieces.length,
    metadata: {
      "tokenizer.ggml.model": text("llama"),
      "tokenizer.ggml.tokens": { type: "strings", value: [...specials, ...bytes, ...pieces] },
      "tokenizer.ggml.scores": {
        type: "float32s",
        value: [...specials.map(() => 0), ...bytes.map(() => 0), ...pieces.map((_, at) => -at)],
      },
      "tokenizer.ggml.token_type": {
        type: "int32s",
        value: [2, 3, 3, ...bytes.map(() => 6), ...pieces.map(() => 1)],
      },
      "tokenizer.ggml.bos_token_id": u32(1),
      "tokenizer.ggml.eos_token_id": u32(2),
      "tokenizer.ggml.unknown_token_id": u32(0),
      "tokenizer.ggml.add_bos_token": { type: "bool", value: true },
      "tokenizer.ggml.add_eos_token": { type: "bool", value: false },
      "tokenizer.chat_template": text(chatTemplate),
    },
  };
}
