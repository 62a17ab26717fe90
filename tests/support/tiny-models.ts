/** Tiny models with random weights, so that every test runs the real llama.cpp in milliseconds. */
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Gguf, type MetadataValue, writeGguf } from "../../src/models/gguf/write.ts";
import { randomBert, tensorMaker } from "./random-bert.ts";
import { randomLlama } from "./random-llama.ts";
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

/** The same with a head that judges a question and a passage read together; `template`: how both are written for it. */
export function tinyReranker(template?: string): Gguf {
  const { metadata, tensors } = tinyBert();
  const { weights, zeros } = tensorMaker(13);
  const size = tinyEmbeddingDimension;
  return {
    metadata: {
      ...metadata,
      "bert.pooling_type": u32(rankPooling),
      ...(template && { "tokenizer.chat_template.rerank": text(template) }),
    },
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
  const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789.,?!'-"];
  return randomBert({
    name: "tiny-embedding",
    size: tinyEmbeddingDimension,
    hidden: 64,
    layers: 1,
    heads: 2,
    context: tinyEmbeddingContext,
    type: "f32",
    pieces: [...letters.map((letter) => `\u2581${letter}`), ...letters],
    seed,
  });
}
