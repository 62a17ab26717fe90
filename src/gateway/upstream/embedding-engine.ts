/** Embeddings from an upstream model, over the OpenAI API. */
import { countAt, isObject, listAt, objectAt } from "../../client/json-fields.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { toUnitLength } from "../../core/embedding/embedding-service.ts";
import { NodeError } from "../../core/errors.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
} from "../../core/ports/embedding-engine.ts";
import { askJson, garbage, inBatches, type Upstream } from "./ask.ts";
import { mostBytesPerToken, type TextCounter, TokenEstimate } from "./tokenizer.ts";

export interface UpstreamEmbeddingOptions
  extends Pick<EmbeddingEngine, "dimension" | "maxTokens" | "vocabularySize" | "tokenizer"> {
  maxBatch: number;
  /** Absent: tokens are estimated. */
  count?: TextCounter | undefined;
  /** What a text may have by now: a server may be started again with another context. Undefined: its servers do not say. Never rejects. */
  askMaxTokens: () => Promise<number | undefined>;
  clock?: Clock;
}

const atOnce = 4;
/** How long a smaller context is believed. */
const believedMs = 60_000;

export function upstreamEmbeddingEngine(
  upstream: Upstream,
  { maxBatch, count, askMaxTokens, clock = systemClock, ...facts }: UpstreamEmbeddingOptions,
): EmbeddingEngine {
  const { dimension } = facts;
  const { named, log } = upstream;
  const estimate = new TokenEstimate();
  let { maxTokens } = facts;
  let askedAt = 0;
  let asking: Promise<void> | undefined;
  const update = async (): Promise<void> => {
    askedAt = clock.now();
    const now = Math.min(facts.maxTokens, (await askMaxTokens()) ?? maxTokens);
    asking = undefined;
    if (now === maxTokens) return;
    log.warn("the context of an upstream model has changed", { of: named, before: maxTokens, now });
    maxTokens = now;
  };
  /** Once for all that need it. */
  const updated = (): Promise<void> => {
    asking ??= update();
    return asking;
  };
  return {
    ...facts,
    get maxTokens() {
      return maxTokens;
    },
    estimatesTokens: count === undefined,
    async countTokens(inputs, { signal } = { signal: new AbortController().signal }) {
      if (maxTokens < facts.maxTokens && clock.now() - askedAt > believedMs) await updated();
      const texts: string[] = [];
      const counts = inputs.map((input) => {
        if (typeof input !== "string") return input.length;
        if (input.trim() === "") return 0;
        if (input.length > maxTokens * mostBytesPerToken) return Number.POSITIVE_INFINITY;
        texts.push(input);
        return undefined;
      });
      const found = (await count?.(texts, signal)) ?? texts.map((text) => estimate.ofText(text));
      const rest = found.values();
      return counts.map((count) => count ?? rest.next().value ?? 0);
    },
    async embed(inputs, { signal, onStart }) {
      signal.throwIfAborted();
      if (inputs.length === 0) return [];
      onStart?.(estimated(inputs));
      return await inBatches(inputs, { most: maxBatch, atOnce }, async (batch, start) => {
        try {
          return await embedBatch(upstream, batch, { signal, dimension });
        } catch (error) {
          const isTooLong = error instanceof NodeError && error.kind === "context_length_exceeded";
          if (isTooLong) await updated();
          throw shifted(error, start);
        }
      });
    },
  };
}

/** Indexes in a batch's error, shifted to the caller's list. */
function shifted(error: unknown, start: number): unknown {
  if (start === 0 || !(error instanceof NodeError) || error.param === undefined) return error;
  const shift = (text: string): string =>
    text.replace(/^input\[(\d+)\]/, (_, at: string) => `input[${Number(at) + start}]`);
  const { kind, message, param } = error;
  return new NodeError(kind, shift(message), { param: shift(param), cause: error });
}

/** More than any model has. */
const mostDimension = 65_536;
/** A number as a server may write it: `-0.012345678901234567,`, indented on its own line. */
const bytesPerNumber = 64;

export async function embedBatch(
  upstream: Upstream,
  inputs: readonly EmbeddingInput[],
  { signal, dimension }: { signal: AbortSignal; dimension?: number },
): Promise<Embedding[]> {
  const { upstreamModel: model } = upstream;
  // base64 is much smaller than numbers as text. Servers without it send numbers.
  const body = [JSON.stringify({ model, input: inputs, encoding_format: "base64" })];
  const mostBytes = inputs.length * (dimension ?? mostDimension) * bytesPerNumber;
  // Vectors are many numbers; `mostBytes` bounds them.
  const mostValues = Number.POSITIVE_INFINITY;
  const question = { path: "/embeddings", body, field: "input", mostBytes, mostValues } as const;
  return await askJson(upstream, question, signal, (answer) => {
    const vectors = readVectors(answer, inputs.length);
    if (vectors === undefined) throw garbage(upstream, "with vectors that are none");
    const { length = 0 } = vectors[0] ?? [];
    if (dimension !== undefined && length !== dimension) {
      throw garbage(upstream, `with vectors of ${length} numbers, and of ${dimension} before`);
    }
    // In base64 more of them fit into as many bytes.
    if (length > mostDimension) throw garbage(upstream, `with vectors of ${length} numbers`);
    // Callers are charged for them, also where the server counts none.
    const counted = countAt(objectAt(answer, "usage"), "prompt_tokens") || estimated(inputs);
    const tokens = shares(inputs, Math.min(counted, TokenEstimate.mostOf(inputs)));
    return vectors.map((vector, at) => ({ vector: toUnitLength(vector), tokens: tokens[at] ?? 0 }));
  });
}

function estimated(inputs: readonly EmbeddingInput[]): number {
  const estimate = new TokenEstimate();
  return inputs.reduce(
    (sum, input) => sum + (typeof input === "string" ? estimate.ofText(input) : input.length),
    0,
  );
}

/** The server reports one total; it is divided among the texts by their length. */
function shares(inputs: readonly EmbeddingInput[], total: number): number[] {
  const length = inputs.reduce((sum, input) => sum + input.length, 0);
  let before = 0;
  let given = 0;
  return inputs.map((input) => {
    before += input.length;
    const upTo = length === 0 ? 0 : Math.round((total * before) / length);
    const share = upTo - given;
    given = upTo;
    return share;
  });
}

/** One vector per text, in order, sent as numbers or base64; undefined if the answer is invalid. */
export function readVectors(answer: unknown, count: number): Float32Array[] | undefined {
  const data = listAt(answer, "data");
  if (data.length !== count) return undefined;
  const vectors = new Array<Float32Array | undefined>(count);
  for (const [at, entry] of data.entries()) {
    const index = countAt(entry, "index") ?? at;
    // An index out of range would make a huge sparse array.
    if (index >= count) return undefined;
    vectors[index] = readVector(entry);
  }
  const found = vectors.filter((vector) => vector !== undefined);
  const [first] = found;
  const isWhole = found.length === count;
  return isWhole && found.every(({ length }) => length === first?.length) ? found : undefined;
}

function readVector(entry: unknown): Float32Array | undefined {
  const sent = isObject(entry) ? entry.embedding : undefined;
  const vector = typeof sent === "string" ? fromBase64(sent) : fromList(sent);
  // One of zeros has no direction, so a passage with it would not be found.
  const isSound = vector?.every(Number.isFinite) && vector.some((value) => value !== 0);
  return isSound ? vector : undefined;
}

function fromBase64(text: string): Float32Array | undefined {
  const bytes = Buffer.from(text, "base64");
  // Copied, since floats must be aligned; not by `Uint8Array.from`, which goes from byte to byte.
  return bytes.length % 4 === 0 ? new Float32Array(new Uint8Array(bytes).buffer) : undefined;
}

const fromList = (list: unknown): Float32Array | undefined =>
  Array.isArray(list) && list.every((value) => typeof value === "number")
    ? Float32Array.from(list)
    : undefined;
