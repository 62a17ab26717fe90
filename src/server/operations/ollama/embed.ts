/** POST /api/embed and the older /api/embeddings. */
import { type Static, Type as T } from "@sinclair/typebox";
import { embedInputs } from "../../../core/embedding/embedding-service.ts";
import type { EmbeddingEngine, EmbeddingInput } from "../../../core/ports/embedding-engine.ts";
import type { Tokenizer } from "../../../core/ports/tokenizer.ts";
import { jsonWithList } from "../../middleware/answer.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { noticeHeader } from "../../wire/answer.ts";
import * as f from "../../wire/fields.ts";
import type { ModelNeeds } from "../../wire/models.ts";
import { nanoseconds } from "./answer.ts";
import { Nanoseconds } from "./answer-schema.ts";
import { ollamaErrors } from "./error-format.ts";
import { ollamaModelErrors } from "./operation.ts";
import { modelNamed } from "./request.ts";
import { keepAlive } from "./schema.ts";

const shared = {
  model: T.String({
    minLength: 1,
    description: "Name of an embedding model of this node; `:latest` after it changes nothing.",
  }),
  keep_alive: keepAlive,
  options: f.ignored("Vectors depend on nothing but the model.", {
    unless: (value) => Object.keys(Object(value)).length === 0,
    except: "`{}`",
  }),
};

export const OllamaEmbedRequest = f.openObject({
  ...shared,
  input: T.Union([T.String(), T.Array(T.String())], {
    "x-expected": "a string or a list of strings",
    description:
      "One text or several. None of a list may be empty. At most `limits.max_inputs`, by default 2048.",
  }),
  truncate: f.flag(
    "Whether a text that is longer than the model's context is cut to it, which the header `x-paddock-notice` then says; otherwise it is rejected. A text of an upstream model is left to its server.",
    true,
  ),
  dimensions: f.nullable(
    f.integer(1),
    "Shorter vectors, scaled to unit length again. At most the model's own.",
  ),
});

export const OllamaEmbedAnswer = T.Object({
  model: T.String({ description: "The name as it was asked for." }),
  embeddings: T.Array(T.Array(T.Number()), { description: "Of unit length." }),
  total_duration: Nanoseconds("Since the request arrived"),
  load_duration: Nanoseconds("How long it waited for the model"),
  prompt_eval_count: f.count("Tokens of all texts."),
});

type OllamaEmbedAnswer = Static<typeof OllamaEmbedAnswer>;

const OllamaEmbeddingsRequest = f.openObject({
  ...shared,
  prompt: f.nullable(T.String(), "The text; longer than the model's context is rejected.", ""),
});

const OllamaEmbeddingsAnswer = T.Object({
  embedding: T.Array(T.Number(), { description: "Of unit length; empty without a text." }),
});

const example = { model: "all-MiniLM-L6-v2", input: ["Llamas hum."] };

export const ollamaEmbedOperations = [
  defineOperation({
    route: "POST /api/embed",
    name: "ollama_embed",
    genAiName: "embeddings",
    operationId: "ollamaEmbed",
    summary: "Embed texts, in Ollama's API",
    tag: "Ollama",
    scope: "embeddings",
    body: {
      ...namedSchema({ OllamaEmbedRequest }),
      example,
      takesAnyType: true,
      lists: [{ param: "input", limit: "maxInputs" }],
      logged: ({ model, input }) => ({ model, input }),
    },
    answer: described({ OllamaEmbedAnswer }, "The vectors, in the order of the texts.", {
      model: example.model,
      embeddings: [[0.0962, 0.0213, -0.0341]],
      total_duration: 14_000_000,
      load_duration: 1_000_000,
      prompt_eval_count: 6,
    }),
    errorFormat: ollamaErrors,
    errors: ollamaModelErrors,
    handler: async ({ body }, context, needs: ModelNeeds) => {
      const { engineCall, headers, held } = context;
      const { models } = needs;
      const model = await modelNamed(needs, body.model, "embedding");
      const { engine } = models.embedding(model);
      const texts = typeof body.input === "string" ? [body.input] : body.input;
      const isNothing = texts.length === 0 || body.input === "";
      const isLeft = isNothing || body.truncate === false || engine.estimatesTokens === true;
      const inputs = isLeft ? texts : await cutToContext(engine, texts, engineCall.signal);
      const cut = inputs.filter((input) => typeof input !== "string").length;
      if (cut > 0) {
        headers[noticeHeader] = `${cut} of ${texts.length} texts cut to the model's context`;
      }
      const request = {
        ...{ model, inputs, hold: (bytes: number) => held.add(bytes) },
        ...(typeof body.input === "string" ? { fieldOf: () => "input" } : {}),
        ...f.withoutNulls({ dimensions: body.dimensions }),
      };
      const embeddings = isNothing
        ? []
        : (await embedInputs(models, request, engineCall)).embeddings;
      const { queue = 0, total } = context.times;
      const rest: Omit<OllamaEmbedAnswer, "embeddings"> = {
        model: body.model,
        total_duration: nanoseconds(total),
        load_duration: nanoseconds(queue),
        prompt_eval_count: embeddings.reduce((sum, { tokens }) => sum + tokens, 0),
      };
      const vectors = embeddings.values().map(({ vector }) => Array.from(vector));
      return { text: jsonWithList(rest, "embeddings", vectors) };
    },
  }),
  defineOperation({
    route: "POST /api/embeddings",
    name: "ollama_embed",
    genAiName: "embeddings",
    operationId: "ollamaEmbeddings",
    summary: "Embed a text, in Ollama's older operation",
    tag: "Ollama",
    scope: "embeddings",
    body: {
      ...namedSchema({ OllamaEmbeddingsRequest }),
      example: { model: example.model, prompt: "Llamas hum." },
      takesAnyType: true,
      logged: ({ model, prompt }) => ({ model, prompt }),
    },
    answer: described({ OllamaEmbeddingsAnswer }, "The vector.", {
      embedding: [0.0962, 0.0213, -0.0341],
    }),
    errorFormat: ollamaErrors,
    errors: ollamaModelErrors,
    handler: async ({ body }, { engineCall }, needs: ModelNeeds) => {
      const { models } = needs;
      const model = await modelNamed(needs, body.model, "embedding");
      models.embedding(model);
      if (!body.prompt) return { json: { embedding: [] } };
      const request = { model, inputs: [body.prompt], fieldOf: () => "prompt" };
      const { embeddings } = await embedInputs(models, request, engineCall);
      return { json: { embedding: Array.from(embeddings[0]?.vector ?? []) } };
    },
  }),
] as const;

/** Texts that are too long become the tokens that the model can read of them. */
async function cutToContext(
  engine: EmbeddingEngine,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly EmbeddingInput[]> {
  const { tokenizer, maxTokens } = engine;
  const counts = await engine.countTokens(texts, { signal });
  if (tokenizer === undefined || counts.every((count) => count <= maxTokens)) return texts;
  // The model adds its own markers to the tokens, which take room too.
  const [withMarkers = 1] = await engine.countTokens([[0]], { signal });
  const inputs: EmbeddingInput[] = [];
  for (const [at, text] of texts.entries()) {
    if ((counts[at] ?? 0) <= maxTokens) inputs.push(text);
    else {
      const tokens = await firstTokens(tokenizer, text, signal);
      inputs.push(Array.from(tokens.subarray(0, maxTokens + 1 - withMarkers)));
    }
  }
  return inputs;
}

/** The tokens of a text's beginning: more than a model can read, and not many times more. */
async function firstTokens(
  tokenizer: Tokenizer,
  text: string,
  signal: AbortSignal,
): Promise<Uint32Array> {
  const input = { text, addSpecial: false, parseSpecial: false };
  const found = await tokenizer.tokenize(input, { signal });
  // It is at least four times too long, so half of it is too long as well.
  return found?.tokens ?? firstTokens(tokenizer, text.slice(0, text.length >> 1), signal);
}
