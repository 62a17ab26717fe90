/** POST /api/chat and /api/generate: a chat, or a text that is continued. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import { type EventFormat, jsonLines, jsonLinesType } from "../../event-format.ts";
import { errorBody } from "../../middleware/errors.ts";
import { announceIgnored } from "../../middleware/ignored-fields.ts";
import { modelErrors } from "../../openapi.ts";
import { type Answer, defineOperation, described, namedSchema } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import { beginAnswer, beginCompletion, type ChatNeeds, held, streamed } from "../../wire/answer.ts";
import { wireName } from "../../wire/generation-fields.ts";
import { scopesOfRag } from "../../wire/grounding.ts";
import { type ImageNeeds, imagesFor } from "../../wire/images.ts";
import { type ModelNeeds, unload } from "../../wire/models.ts";
import { type Form, inMessage, inResponse, loaded, toLines, toWhole } from "./answer.ts";
import { OllamaChatAnswer, OllamaGenerateAnswer } from "./answer-schema.ts";
import { ollamaErrors } from "./error-format.ts";
import {
  generateNames,
  isContinued,
  modelNamed,
  ollamaChatNames,
  toChatRequest,
  toCompletion,
  toGenerateChat,
} from "./request.ts";
import { asksToUnload, OllamaChatRequest, OllamaGenerateRequest } from "./schema.ts";

type Needs = ChatNeeds & ImageNeeds & ModelNeeds;

const model = "TinyLlama-1.1B-Chat-v1.0";
const head = { model, created_at: "2026-11-17T12:00:00.000Z" };

const ending = {
  done: true,
  done_reason: "stop",
  total_duration: 412_000_000,
  load_duration: 1_000_000,
  prompt_eval_count: 39,
  prompt_eval_duration: 201_000_000,
  eval_count: 7,
  eval_duration: 210_000_000,
} as const;

/** What all of the API's operations have in common that run a model. */
export const ollamaModelErrors = {
  ...modelErrors,
  400: "Malformed JSON or an invalid field, which the message names; or a model of another type.",
  404: "There is no such model.",
};

export const inLines = {
  contentType: jsonLinesType,
};

/** A stream that breaks off ends with a line `{"error": "…"}`. */
export const lines = (context: RequestContext): EventFormat =>
  jsonLines((error) => {
    const { message } = errorBody(error).error;
    return ollamaErrors.body(error, { message, requestId: context.id });
  });

/** The field of a setting that the model ignores. */
const nameOf: typeof wireName = (name) => `options.${wireName(name)}`;

/** A request that asks nothing is about the model's place in memory. */
async function loadOrUnload(
  { model: asked, keep_alive: time }: Pick<OllamaChatRequest, "model" | "keep_alive">,
  { signal }: RequestContext,
  needs: ModelNeeds,
): Promise<"load" | "unload"> {
  if (asksToUnload(time)) {
    // A model of any type: Ollama's own program does so before it removes one.
    await unload(needs.models.find(await modelNamed(needs, asked)), signal);
    return "unload";
  }
  await needs.models.find(await modelNamed(needs, asked, "chat")).load?.(signal);
  return "load";
}

/** With something to answer, the model stays. */
function announceStay(
  { keep_alive: time }: Pick<OllamaChatRequest, "keep_alive">,
  context: RequestContext,
  { log }: Needs,
): void {
  if (asksToUnload(time)) announceIgnored(["keep_alive"], context, log);
}

interface Asked {
  model: string;
  stream?: boolean | null;
  think?: boolean | string | null;
}

async function answered(
  body: Asked,
  { form, last }: { form: Form; last?: object },
  begin: () => Promise<ChatAnswer>,
  context: RequestContext,
): Promise<Answer> {
  const options = {
    ...{ model: body.model, form, ...given({ last }) },
    showsThoughts: body.think !== false,
    times: () => context.times,
  };
  if (body.stream === false) {
    return { json: await toWhole(held(await begin(), context), options) };
  }
  const events = streamed(begin, (answer) => toLines(answer, options));
  return { events, format: lines(context) };
}

export const ollamaChatOperations = [
  defineOperation({
    route: "POST /api/chat",
    name: "ollama_chat",
    genAiName: "chat",
    operationId: "ollamaChat",
    summary: "Answer a conversation, in Ollama's API",
    description:
      "Generates the assistant's next message as lines of JSON, the last with `done: true`, or with `stream: false` as one JSON body.",
    tag: "Ollama",
    scope: "chat",
    body: {
      ...namedSchema({ OllamaChatRequest }),
      example: {
        model,
        messages: [{ role: "user", content: "What is the capital of France?" }],
        stream: false,
      },
      takesAnyType: true,
      lists: [{ param: "messages", limit: "maxMessages" }],
      scopes: ({ rag, messages, keep_alive }) =>
        !messages?.length && asksToUnload(keep_alive) ? ["models"] : scopesOfRag(rag),
      logged: ({ model, messages }) => ({ model, messages }),
    },
    answer: described({ OllamaChatAnswer }, "The answer.", {
      ...head,
      message: { role: "assistant", content: "The capital of France is Paris." },
      ...ending,
    }),
    stream: {
      ...described({ OllamaChatAnswer }, "A line of JSON for each of these.", {
        ...head,
        message: { role: "assistant", content: "Paris" },
        done: false,
      }),
      ...inLines,
    },
    errorFormat: ollamaErrors,
    errors: ollamaModelErrors,
    handler: async ({ body }, context, needs: Needs) => {
      context.fieldNames = ollamaChatNames;
      if (!body.messages?.length) {
        const reason = await loadOrUnload(body, context, needs);
        return { json: loaded({ model: body.model, form: inMessage }, reason) };
      }
      const name = await modelNamed(needs, body.model, "chat");
      announceStay(body, context, needs);
      const request = toChatRequest(body, name, imagesFor(name, context, needs));
      const begin = () => beginAnswer(request, context, needs, { nameOf });
      return await answered(body, { form: inMessage }, begin, context);
    },
  }),
  defineOperation({
    route: "POST /api/generate",
    name: "ollama_generate",
    genAiName: "text_completion",
    operationId: "ollamaGenerate",
    summary: "Answer a prompt, in Ollama's API",
    description:
      "Answers a prompt with the model's template, or with `raw` or `suffix` continues it as it is; in lines of JSON, the last with `done: true`, or with `stream: false` as one JSON body.",
    tag: "Ollama",
    scope: "chat",
    body: {
      ...namedSchema({ OllamaGenerateRequest }),
      example: { model, prompt: "What is the capital of France?", stream: false },
      takesAnyType: true,
      scopes: ({ rag, prompt, images, keep_alive }) =>
        !prompt && !images?.length && asksToUnload(keep_alive) ? ["models"] : scopesOfRag(rag),
      logged: ({ model, system, prompt, suffix }) => ({ model, system, prompt, suffix }),
    },
    answer: described({ OllamaGenerateAnswer }, "The answer.", {
      ...{ ...head, response: "The capital of France is Paris." },
      ...ending,
    }),
    stream: {
      ...described({ OllamaGenerateAnswer }, "A line of JSON for each of these.", {
        ...{ ...head, response: "Paris", done: false },
      }),
      ...inLines,
    },
    errorFormat: ollamaErrors,
    errors: ollamaModelErrors,
    handler: async ({ body }, context, needs: Needs) => {
      context.fieldNames = generateNames;
      if (!body.prompt && !body.images?.length) {
        const reason = await loadOrUnload(body, context, needs);
        return { json: loaded({ model: body.model, form: inResponse }, reason) };
      }
      const name = await modelNamed(needs, body.model, "chat");
      const { settings } = needs.models.chat(name).card;
      announceStay(body, context, needs);
      if (!isContinued(body)) {
        const request = toGenerateChat(body, name, imagesFor(name, context, needs));
        const begin = () => beginAnswer(request, context, needs, { nameOf });
        return await answered(body, { form: inResponse, last: { context: [] } }, begin, context);
      }
      const request = toCompletion(body, name, settings.nPredict);
      const begin = () => beginCompletion(request, context, needs, { nameOf });
      return await answered(body, { form: inResponse }, begin, context);
    },
  }),
] as const;
