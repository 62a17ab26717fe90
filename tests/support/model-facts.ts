/** Facts of models of known sizes, as their files give them. */
import type { ModelFacts } from "../../src/engine/machine/model-memory.ts";

/** TinyLlama-1.1B in Q8_0: 22 layers, 4 heads of 64 in the cache. */
export const smallChat: ModelFacts = {
  files: ["small.q8_0.gguf"],
  kind: "chat",
  architecture: "llama",
  name: "small",
  parameters: 1_100_048_384,
  quantization: "Q8_0",
  trainContext: 2048,
  bytes: 1_169_800_000,
  layers: 22,
  hasChatTemplate: true,
  supportsTools: false,
  supportsThinking: false,
  cacheBytesPerToken: 22_528,
  attentionScores: 0,
  adapterBytes: 0,
  embeddingLength: 2048,
  vocabularySize: 32_000,
};

/** An 8B with grouped attention in Q4_K_M: 32 layers, 8 heads of 128 in the cache. */
export const largeChat: ModelFacts = {
  ...smallChat,
  files: ["large.q4_k_m.gguf"],
  name: "large",
  parameters: 8_030_261_312,
  quantization: "Q4_K_M",
  trainContext: 131_072,
  bytes: 4_920_734_272,
  layers: 32,
  supportsTools: true,
  supportsThinking: true,
  cacheBytesPerToken: 131_072,
  embeddingLength: 4096,
  vocabularySize: 128_256,
};

export const smallEmbedding: ModelFacts = {
  ...smallChat,
  files: ["all-minilm-l6-v2.q8_0.gguf"],
  kind: "embedding",
  architecture: "bert",
  name: "all-MiniLM-L6-v2",
  parameters: 22_565_376,
  trainContext: 512,
  bytes: 25_282_176,
  layers: 6,
  hasChatTemplate: false,
  cacheBytesPerToken: 0,
  embeddingLength: 384,
  vocabularySize: 30_522,
};
