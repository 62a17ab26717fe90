/** A server that answers as Text Embeddings Inference does, by its OpenAPI document (1.7). Nothing is computed. */
import { type ConventionServer, openAiServer, type Script } from "./openai-server.ts";

/** Few, so that a test sees requests divided. */
const teiBatch = 4;

interface TeiOptions {
  instead?: Script;
  /** `max_input_length`, which may change when it is started again. */
  limit?: () => number;
}

export function recordedTei({
  instead,
  limit = () => info.max_input_length,
}: TeiOptions = {}): ConventionServer {
  return openAiServer(async (request, signal) => {
    const other = await instead?.(request, signal);
    if (other !== undefined) return other;
    const body = isRecord(request.body) ? request.body : {};
    switch (request.path) {
      case "/info":
        return Response.json({ ...info, max_input_length: limit() });
      case "/tokenize":
        return Response.json(textsOf(body.inputs).map(tokensOf));
      case "/v1/embeddings":
        return embeddings(textsOf(body.input), limit());
      case "/rerank":
        return rerank(textsOf(body.texts));
      default:
        return undefined;
    }
  });
}

const info = {
  model_id: "BAAI/bge-base-en-v1.5",
  model_sha: "fca14538aa9956a46526bd1d0d11d69e19b5a101",
  model_dtype: "float16",
  model_type: { embedding: { pooling: "cls" } },
  max_concurrent_requests: 512,
  max_input_length: 512,
  max_batch_tokens: 16_384,
  max_batch_requests: null,
  max_client_batch_size: teiBatch,
  auto_truncate: false,
  tokenization_workers: 4,
  version: "1.7.1",
  sha: null,
  docker_label: null,
};

/** A token a word, and the model's markers around them. */
const tokensOf = (text: string): object[] =>
  ["[CLS]", ...text.split(/\s+/), "[SEP]"].map((word, id) => ({
    id,
    text: word,
    special: word.startsWith("["),
    start: null,
    stop: null,
  }));

function embeddings(texts: readonly string[], limit: number): Response {
  if (texts.length > teiBatch) {
    const message = `batch size ${texts.length} > maximum allowed batch size ${teiBatch}`;
    return Response.json({ message, code: 413, error_type: "Validation" }, { status: 413 });
  }
  const long = texts.find((text) => tokensOf(text).length > limit);
  if (long !== undefined) {
    const message = `\`inputs\` must have less than ${limit} tokens. Given: ${tokensOf(long).length}`;
    return Response.json({ message, code: 413, error_type: "Validation" }, { status: 413 });
  }
  const prompt_tokens = texts.reduce((sum, text) => sum + tokensOf(text).length, 0);
  return Response.json({
    object: "list",
    data: texts.map((text, index) => ({ object: "embedding", index, embedding: [text.length, 4] })),
    model: info.model_id,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  });
}

function rerank(texts: readonly string[]): Response {
  if (texts.length > teiBatch) {
    const error = `batch size ${texts.length} > maximum allowed batch size ${teiBatch}`;
    return Response.json({ error, error_type: "Validation" }, { status: 413 });
  }
  const ranks = texts.map((text, index) => ({ index, score: 1 / (1 + text.length) }));
  return Response.json(ranks.toSorted((a, b) => b.score - a.score));
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === "string" ? [value] : [];

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
