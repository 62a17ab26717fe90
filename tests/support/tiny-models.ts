/** Tiny models with random weights, so that every test runs the real llama.cpp in milliseconds. */
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import {
  type Gguf,
  type MetadataValue,
  type Tensor,
  writeGguf,
} from "../../src/models/gguf/write.ts";
import { randomLlama, randomNumbers } from "./random-llama.ts";
import { tempDir } from "./temp-dir.ts";

const u32 = (value: number): MetadataValue => ({ type: "uint32", value });
const f32 = (value: number): MetadataValue => ({ type: "float32", value });
const text = (value: string): MetadataValue => ({ type: "string", value });

export const tinyChatContext = 4096;
export const tinyEmbeddingContext = 64;
export const tinyEmbeddingDimension = 32;

interface TinyModels {
  chat: string;
  embedding: string;
  /** Of the same shape, with other weights. */
  otherEmbedding: string;
  reranker: string;
  /** The chat model with a template that has every answer begin in a thought. */
  thinker: string;
}

let made: Promise<TinyModels> | undefined;

/** Paths of a model of each kind; made once a test run. */
export function tinyModels(): Promise<TinyModels> {
  made ??= makeModels();
  return made;
}

async function makeModels(): Promise<TinyModels> {
  const { path } = await tempDir();
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  const chat = join(path, "tiny-chat.gguf");
  const embedding = join(path, "tiny-embedding.gguf");
  await save(chat, tinyLlama());
  await save(embedding, tinyBert());
  const otherEmbedding = join(path, "other-embedding.gguf");
  await save(otherEmbedding, tinyBert(17));
  const reranker = join(path, "tiny-reranker.gguf");
  await save(reranker, tinyReranker());
  const thinker = join(path, "tiny-thinker.gguf");
  await save(thinker, tinyThinker());
  return { chat, embedding, otherEmbedding, reranker, thinker };
}

export async function save(path: string, gguf: Gguf): Promise<void> {
  await using file = await open(path, "w");
  await writeGguf(file, gguf);
}

function tensorMaker(seed: number) {
  const random = randomNumbers(seed);
  const tensor = (name: string, shape: number[], value: () => number): Tensor => ({
    name,
    shape,
    type: "f32",
    values: () => Float32Array.from({ length: shape.reduce((a, b) => a * b) }, value),
  });
  return {
    weights: (name: string, ...shape: number[]) =>
      tensor(name, shape, () => (random() - 0.5) * 0.6),
    ones: (name: string, size: number) => tensor(name, [size], () => 1),
    zeros: (name: string, size: number) => tensor(name, [size], () => 0),
  };
}

export function tinyLlama(): Gguf {
  return randomLlama({
    name: "tiny-chat",
    size: 32,
    hidden: 64,
    layers: 2,
    heads: 2,
    context: tinyChatContext,
    type: "f32",
    words: ["\u2581", "\u2581the", "\u2581a", "\u2581is", "\u2581of", "ing", "tion"],
  });
}

/** A LoRA adapter of `tinyLlama`, or of a model that it does not fit: it moves the last layer's output. */
export function tinyAdapter({ seed = 19, architecture = "llama", size = 32 } = {}): Gguf {
  const { weights } = tensorMaker(seed);
  return {
    metadata: {
      "general.type": text("adapter"),
      "general.architecture": text(architecture),
      "adapter.type": text("lora"),
      "adapter.lora.alpha": f32(16),
    },
    tensors: [
      weights("blk.1.attn_output.weight.lora_a", size, 2),
      weights("blk.1.attn_output.weight.lora_b", 2, size),
    ],
  };
}

/** A template whose every answer has a thought before it, be it an empty one. */
const thinkingTemplate = [
  "{% for message in messages %}{{ '<|' + message['role'] + '|>' }}",
  "{% if message['role'] == 'assistant' %}",
  "{{ '<think>' + (message['reasoning_content'] or '') + '</think>' }}{% endif %}",
  "{{ message['content'] + eos_token }}{% endfor %}",
  "{% if add_generation_prompt %}{{ '<|assistant|><think>' }}{% endif %}",
].join("");

function tinyThinker(): Gguf {
  const { metadata, tensors } = tinyLlama();
  const own = {
    "general.name": text("tiny-thinker"),
    "tokenizer.chat_template": text(thinkingTemplate),
  };
  return { metadata: { ...metadata, ...own }, tensors };
}

const rankPooling = 4;

/** The same with a head that judges a question and a passage read together. */
function tinyReranker(): Gguf {
  const { metadata, tensors } = tinyBert();
  const { weights, zeros } = tensorMaker(13);
  const size = tinyEmbeddingDimension;
  return {
    metadata: { ...metadata, "bert.pooling_type": u32(rankPooling) },
    tensors: [
      ...tensors,
      weights("cls.weight", size, size),
      zeros("cls.bias", size),
      weights("cls.output.weight", size, 1),
      zeros("cls.output.bias", 1),
    ],
  };
}

function tinyBert(seed = 11): Gguf {
  const [size, hidden] = [tinyEmbeddingDimension, 64];
  const { weights, ones, zeros } = tensorMaker(seed);
  const specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
  const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789.,?!'-"];
  const pieces = [...letters.map((letter) => `\u2581${letter}`), ...letters];
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
      "general.name": text("tiny-embedding"),
      "bert.block_count": u32(1),
      "bert.context_length": u32(tinyEmbeddingContext),
      "bert.embedding_length": u32(size),
      "bert.feed_forward_length": u32(hidden),
      "bert.attention.head_count": u32(2),
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
      weights("position_embd.weight", size, tinyEmbeddingContext),
      weights("token_types.weight", size, 2),
      ...norm("token_embd_norm"),
      ...dense("blk.0.attn_q", size, size),
      ...dense("blk.0.attn_k", size, size),
      ...dense("blk.0.attn_v", size, size),
      ...dense("blk.0.attn_output", size, size),
      ...norm("blk.0.attn_output_norm"),
      ...dense("blk.0.ffn_up", size, hidden),
      ...dense("blk.0.ffn_down", hidden, size),
      ...norm("blk.0.layer_output_norm"),
    ],
  };
}
