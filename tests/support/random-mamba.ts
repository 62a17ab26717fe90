/** A tiny recurrent model with random weights: its memory is one state, which cannot be cut at a token. */
import type { Gguf, MetadataValue, Tensor } from "../../src/models/gguf/write.ts";
import { llamaVocabulary, randomNumbers } from "./random-llama.ts";

const u32 = (value: number): MetadataValue => ({ type: "uint32", value });

const [size, layers, convolution, state, rank] = [32, 2, 4, 8, 4];
const inner = 2 * size;

export function randomMamba(): Gguf {
  const random = randomNumbers(11);
  const vocabulary = llamaVocabulary(["\u2581", "\u2581the", "\u2581a"]);
  const tensor = (name: string, shape: number[], value: () => number): Tensor => ({
    name,
    shape,
    type: "f32",
    values: () => Float32Array.from({ length: shape.reduce((a, b) => a * b) }, value),
  });
  const weights = (name: string, ...shape: number[]): Tensor =>
    tensor(name, shape, () => (random() - 0.5) * 0.6);
  const ones = (name: string, length: number): Tensor => tensor(name, [length], () => 1);
  const layer = (at: number): Tensor[] => [
    ones(`blk.${at}.attn_norm.weight`, size),
    weights(`blk.${at}.ssm_in.weight`, size, 2 * inner),
    weights(`blk.${at}.ssm_conv1d.weight`, convolution, inner),
    weights(`blk.${at}.ssm_conv1d.bias`, inner),
    weights(`blk.${at}.ssm_x.weight`, inner, rank + 2 * state),
    weights(`blk.${at}.ssm_dt.weight`, rank, inner),
    weights(`blk.${at}.ssm_dt.bias`, inner),
    // Negative, so that the state decays.
    tensor(`blk.${at}.ssm_a`, [state, inner], () => -0.1 - random()),
    ones(`blk.${at}.ssm_d`, inner),
    weights(`blk.${at}.ssm_out.weight`, inner, size),
  ];
  return {
    metadata: {
      "general.architecture": { type: "string", value: "mamba" },
      "general.name": { type: "string", value: "tiny-recurrent" },
      "mamba.block_count": u32(layers),
      "mamba.context_length": u32(4096),
      "mamba.embedding_length": u32(size),
      "mamba.feed_forward_length": u32(0),
      "mamba.attention.head_count": u32(0),
      "mamba.attention.layer_norm_rms_epsilon": { type: "float32", value: 1e-5 },
      "mamba.ssm.conv_kernel": u32(convolution),
      "mamba.ssm.inner_size": u32(inner),
      "mamba.ssm.state_size": u32(state),
      "mamba.ssm.time_step_rank": u32(rank),
      "mamba.vocab_size": u32(vocabulary.size),
      ...vocabulary.metadata,
    },
    tensors: [
      weights("token_embd.weight", size, vocabulary.size),
      ...Array.from({ length: layers }, (_, at) => layer(at)).flat(),
      ones("output_norm.weight", size),
      weights("output.weight", size, vocabulary.size),
    ],
  };
}
