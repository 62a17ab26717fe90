/** Describes a model in words: name, size, fit and configuration. */
import { basename } from "node:path";
import { byteSize } from "../../core/byte-size.ts";
import type { Machine } from "../../engine/machine/machine.ts";
import type { ModelFacts } from "../../engine/machine/model-memory.ts";
import { starterChat, starterEmbedding, starterGteSmall } from "../../models/starter-models.ts";

const starterNames: Readonly<Record<string, string>> = {
  "starter:chat": starterChat.name,
  "starter:embedding": starterEmbedding.name,
  [starterGteSmall.source]: starterGteSmall.name,
};

/** `1.1 B`, as makers of models count. */
export function parameterCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} B`;
  if (count >= 1e6) return `${Math.round(count / 1e6)} M`;
  return `${Math.round(count / 1e3)} k`;
}

/** Whether it fits the memory: `yes`, `not now` while others use it, or `no`. */
export function fits(bytes: number, { memory, availableMemory }: Machine): string {
  if (bytes <= availableMemory) return "yes";
  return bytes <= memory ? "not now" : "no";
}

export function describeModel(facts: ModelFacts): string {
  const { architecture, parameters, quantization, trainContext, bytes } = facts;
  return `${architecture}, ${parameterCount(parameters)} parameters, ${quantization}, trained on ${trainContext} tokens, ${byteSize(bytes)}`;
}

/** Default name of a model, from its file or its place on the hub. */
export function nameOf(source: string): string {
  const starter = starterNames[source];
  if (starter !== undefined) return starter;
  const [place = source] = source.split(/[?#]/);
  return basename(place)
    .replace(/(-\d{5}-of-\d{5})?\.gguf$/i, "")
    .replaceAll(":", "-");
}

/** Configuration lines for a model; `sha256`: the expected digest of its file. */
export function configurationFor({ kind }: ModelFacts, source: string, sha256?: string): string {
  // A JSON string is a TOML string too.
  const from = JSON.stringify(source);
  const digest = sha256 === undefined ? "" : `sha256 = "${sha256}"\n`;
  const name = JSON.stringify(nameOf(source));
  const section = `[[models]]\nname = ${name}\ntype = "${kind}"\nsource = ${from}\n${digest}`;
  // A node may rerank for others without doing so for its own searches.
  return kind === "reranker" ? `[retrieval]\nreranker = ${name}\n\n${section}` : section;
}
