/** Computes embeddings; an error names the input that it is about. */
import { NodeError } from "../errors.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../ports/embedding-engine.ts";

export interface EmbeddingRequest {
  model: string;
  inputs: readonly EmbeddingInput[];
  /** Shorter vectors: truncated, then normalized again. */
  dimensions?: number;
  /** The request's field of an input, for errors; default: `input[0]`, … */
  fieldOf?: (index: number) => string;
  /** Called with the bytes that the vectors will take; throws if there is no room for them. */
  hold?: (bytes: number) => void;
}

/** Numbers of all vectors of a request: 2,048 of 8,192. */
const mostNumbers = 16 * 1024 * 1024;

export async function embedInputs(
  models: ModelRegistry,
  { model, inputs, dimensions, fieldOf = (index) => `input[${index}]`, hold }: EmbeddingRequest,
  options: EmbedOptions,
): Promise<{ model: string; embeddings: Embedding[] }> {
  const { card, engine } = models.embedding(model);
  if (dimensions !== undefined && dimensions > engine.dimension) {
    const why = `'dimensions' is ${dimensions}; the vectors of '${card.name}' have ${engine.dimension}.`;
    throw new NodeError("invalid_request", why, { param: "dimensions" });
  }
  const numbers = inputs.length * engine.dimension;
  if (numbers > mostNumbers) {
    const why = `'input' has ${inputs.length} texts, and each vector of '${card.name}' ${engine.dimension} numbers; the vectors of a request have at most ${mostNumbers} together. Send at most ${Math.floor(mostNumbers / engine.dimension)} texts.`;
    throw new NodeError("invalid_request", why, { param: "input" });
  }
  checkContents(engine, inputs, fieldOf);
  hold?.(numbers * Float32Array.BYTES_PER_ELEMENT);
  const embeddings = await engine.embed(inputs, options).catch(async (error: unknown) => {
    // The engine counts before it computes; which input it means is found out only then, by another call.
    if (error instanceof NodeError && error.kind === "invalid_request") {
      await checkInputs(engine, inputs, { fieldOf, signal: options.signal });
    }
    throw error;
  });
  if (dimensions === undefined) return { model: card.name, embeddings };
  const shorter = embeddings.map(({ vector, tokens }) => ({
    vector: toUnitLength(vector.subarray(0, dimensions)),
    tokens,
  }));
  return { model: card.name, embeddings: shorter };
}

export interface CheckOptions {
  fieldOf: (index: number) => string;
  signal: AbortSignal;
  prefix?: string;
}

/** Throws if an input is empty, has unknown tokens or exceeds the model's context; the error names its field. */
export async function checkInputs(
  engine: EmbeddingEngine,
  inputs: readonly EmbeddingInput[],
  { fieldOf, signal, prefix = "" }: CheckOptions,
): Promise<void> {
  checkContents(engine, inputs, fieldOf);
  if (engine.estimatesTokens === true) return;
  const counts = await engine.countTokens(
    inputs.map((input) => (typeof input === "string" ? prefix + input : input)),
    { signal },
  );
  counts.forEach((tokens, index) => {
    checkLength(engine, tokens, fieldOf(index));
  });
}

function checkContents(
  engine: EmbeddingEngine,
  inputs: readonly EmbeddingInput[],
  fieldOf: CheckOptions["fieldOf"],
): void {
  inputs.forEach((input, index) => {
    checkContent(engine, input, fieldOf(index));
  });
}

function checkContent(engine: EmbeddingEngine, input: EmbeddingInput, param: string): void {
  if (input.length === 0) {
    const what = input === "" ? "an empty string" : "an empty list of tokens";
    throw new NodeError("invalid_request", `${param} is ${what}; give it some text.`, { param });
  }
  if (typeof input !== "string") {
    // A list that is too long is refused before its tokens are checked.
    if (input.length > engine.maxTokens) checkLength(engine, input.length, param);
    const unknown = input.find((token) => token >= engine.vocabularySize);
    if (unknown !== undefined) {
      const why = `${param} holds the token ${unknown}; this model has the tokens 0 to ${engine.vocabularySize - 1}.`;
      throw new NodeError("invalid_request", why, { param });
    }
  }
}

function checkLength(engine: EmbeddingEngine, tokens: number, param: string): void {
  if (tokens === 0) {
    const why = `${param} holds nothing that this model can read.`;
    throw new NodeError("invalid_request", why, { param });
  }
  if (tokens > engine.maxTokens) {
    const why = `${param} has ${tokens === Number.POSITIVE_INFINITY ? `more than ${engine.maxTokens}` : tokens} tokens; this embedding model takes at most ${engine.maxTokens}. Split the text.`;
    throw new NodeError("context_length_exceeded", why, { param });
  }
}

export function toUnitLength(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
