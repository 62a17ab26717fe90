import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { importBert } from "../../../../src/models/gguf/import-bert.ts";
import { readSafetensors } from "../../../../src/models/gguf/weights.ts";
import type { Gguf } from "../../../../src/models/gguf/write.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const [hidden, inner, positions, types] = [32, 40, 6, 2];
const config = {
  architectures: ["BertModel"],
  hidden_size: hidden,
  intermediate_size: inner,
  layer_norm_eps: 0.5,
  max_position_embeddings: positions,
  num_attention_heads: 4,
  num_hidden_layers: 1,
  type_vocab_size: types,
};
const vocab = { "##ing": 6, "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, run: 5 };
const tokenizer = {
  added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((content, id) => ({
    id,
    content,
    special: true,
  })),
  model: { type: "WordPiece", unk_token: "[UNK]", vocab },
};

const layer = "encoder.layer.0";
/** Rows before columns, as safetensors counts; the last is stored in half precision. */
const shapes: Record<string, number[]> = {
  "embeddings.word_embeddings.weight": [7, hidden],
  "embeddings.position_embeddings.weight": [positions, hidden],
  "embeddings.token_type_embeddings.weight": [types, hidden],
  "embeddings.LayerNorm.weight": [hidden],
  "embeddings.LayerNorm.bias": [hidden],
  ...dense(`${layer}.attention.self.query`, hidden, hidden),
  ...dense(`${layer}.attention.self.key`, hidden, hidden),
  ...dense(`${layer}.attention.self.value`, hidden, hidden),
  ...dense(`${layer}.attention.output.dense`, hidden, hidden),
  [`${layer}.attention.output.LayerNorm.weight`]: [hidden],
  [`${layer}.attention.output.LayerNorm.bias`]: [hidden],
  ...dense(`${layer}.intermediate.dense`, inner, hidden),
  ...dense(`${layer}.output.dense`, hidden, inner),
  [`${layer}.output.LayerNorm.weight`]: [hidden],
  [`${layer}.output.LayerNorm.bias`]: [hidden],
};
const half = `${layer}.output.LayerNorm.bias`;

function dense(name: string, to: number, from: number): Record<string, number[]> {
  return { [`${name}.weight`]: [to, from], [`${name}.bias`]: [to] };
}

/** The tensors one after the other, each filled with its own number. */
function safetensors(): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  const data: Uint8Array[] = [];
  let offset = 0;
  for (const [index, [name, shape]] of Object.entries(shapes).entries()) {
    const length = shape.reduce((product, size) => product * size);
    const values = name === half ? new Float16Array(length) : new Float32Array(length);
    values.fill(index);
    const dtype = name === half ? "F16" : "F32";
    header[name] = { dtype, shape, data_offsets: [offset, offset + values.byteLength] };
    data.push(new Uint8Array(values.buffer));
    offset += values.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(text.length), true);
  return Buffer.concat([size, text, ...data]);
}

async function imported(use: (gguf: Gguf, folder: string) => Promise<void> | void): Promise<void> {
  await using folder = await tempDir();
  const weights = join(folder.path, "model.safetensors");
  await writeFile(weights, safetensors());
  await writeFile(join(folder.path, "config.json"), JSON.stringify(config));
  await writeFile(join(folder.path, "tokenizer.json"), JSON.stringify(tokenizer));
  const file = await readSafetensors(weights);
  await use(await importBert("made-up", folder.path, file), folder.path);
}

const u32 = (value: number) => ({ type: "uint32", value });

describe("a BERT model made of safetensors", () => {
  test("carries the configuration and the vocabulary, with its marks", () =>
    imported(({ metadata }) => {
      expect<unknown>(metadata).toEqual({
        "general.architecture": { type: "string", value: "bert" },
        "general.name": { type: "string", value: "made-up" },
        "general.file_type": u32(7),
        "general.quantization_version": u32(2),
        "bert.block_count": u32(1),
        "bert.context_length": u32(positions),
        "bert.embedding_length": u32(hidden),
        "bert.feed_forward_length": u32(inner),
        "bert.attention.head_count": u32(4),
        "bert.attention.layer_norm_epsilon": { type: "float32", value: 0.5 },
        "bert.attention.causal": { type: "bool", value: false },
        "bert.pooling_type": u32(1),
        "tokenizer.ggml.model": { type: "string", value: "bert" },
        "tokenizer.ggml.pre": { type: "string", value: "jina-v2-en" },
        "tokenizer.ggml.token_type_count": u32(types),
        "tokenizer.ggml.tokens": {
          type: "strings",
          value: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁run", "ing"],
        },
        "tokenizer.ggml.token_type": { type: "int32s", value: [3, 2, 3, 3, 3, 1, 1] },
        "tokenizer.ggml.bos_token_id": u32(2),
        "tokenizer.ggml.cls_token_id": u32(2),
        "tokenizer.ggml.eos_token_id": u32(3),
        "tokenizer.ggml.seperator_token_id": u32(3),
        "tokenizer.ggml.unknown_token_id": u32(1),
        "tokenizer.ggml.padding_token_id": u32(0),
        "tokenizer.ggml.mask_token_id": u32(4),
      });
    }));

  test("has llama.cpp's names, shapes and formats, and each tensor's own values", () =>
    imported(async ({ tensors }) => {
      const found = await Promise.all(
        tensors.map(async ({ name, shape, type, values }) => {
          const [first] = await values();
          return [name, [...shape], type, first];
        }),
      );
      expect<unknown>(found).toEqual([
        ["token_embd.weight", [hidden, 7], "q8_0", 0],
        ["position_embd.weight", [hidden, positions], "f32", 1],
        ["token_types.weight", [hidden, types], "f32", 2],
        ["token_embd_norm.weight", [hidden], "f32", 3],
        ["token_embd_norm.bias", [hidden], "f32", 4],
        ["blk.0.attn_q.weight", [hidden, hidden], "q8_0", 5],
        ["blk.0.attn_q.bias", [hidden], "f32", 6],
        ["blk.0.attn_k.weight", [hidden, hidden], "q8_0", 7],
        ["blk.0.attn_k.bias", [hidden], "f32", 8],
        ["blk.0.attn_v.weight", [hidden, hidden], "q8_0", 9],
        ["blk.0.attn_v.bias", [hidden], "f32", 10],
        ["blk.0.attn_output.weight", [hidden, hidden], "q8_0", 11],
        ["blk.0.attn_output.bias", [hidden], "f32", 12],
        ["blk.0.attn_output_norm.weight", [hidden], "f32", 13],
        ["blk.0.attn_output_norm.bias", [hidden], "f32", 14],
        ["blk.0.ffn_up.weight", [hidden, inner], "q8_0", 15],
        ["blk.0.ffn_up.bias", [inner], "f32", 16],
        // Rows of 40 do not fill blocks of 32.
        ["blk.0.ffn_down.weight", [inner, hidden], "f16", 17],
        ["blk.0.ffn_down.bias", [hidden], "f32", 18],
        ["blk.0.layer_output_norm.weight", [hidden], "f32", 19],
        ["blk.0.layer_output_norm.bias", [hidden], "f32", 20],
      ]);
    }));

  test("is refused where the weights lack a tensor", () =>
    imported(async (_, folder) => {
      await expect(importBert("made-up", folder, new Map())).rejects.toThrow(
        "no tensor 'embeddings.word_embeddings.weight'",
      );
    }));
});
