/** POST /v1/chat/completions */
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import {
  type Answer,
  defineOperation,
  described,
  type Handler,
  namedSchema,
} from "../../operation.ts";
import { beginAnswer, type ChatNeeds } from "../../wire/answer.ts";
import { toUsage } from "../../wire/completion.ts";
import { scopesOfRag } from "../../wire/grounding.ts";
import { toChatCompletion, toChunks } from "./completion.ts";
import { fieldNamesOf, isOlderForm, toChatRequest } from "./request.ts";
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from "./schema.ts";

const head = {
  id: "chatcmpl-2f9d7c1e-5a31-4f0b-9c57-3d6a1f0e8b42",
  created: 1794700800,
  model: "TinyLlama-1.1B-Chat-v1.0",
  system_fingerprint: "fp_5c3a9e1b7d20",
};

const request: ChatCompletionRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  messages: [
    { role: "system", content: "You are a helpful assistant." },
    { role: "user", content: "What is the capital of France?" },
  ],
  temperature: 0,
};

const completion: ChatCompletion = {
  ...head,
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "The capital of France is Paris.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: toUsage([{ promptTokens: 39, completionTokens: 7, cachedTokens: 0, reasoningTokens: 0 }]),
};

const chunk: ChatCompletionChunk = {
  ...head,
  object: "chat.completion.chunk",
  choices: [
    {
      index: 0,
      delta: { role: "assistant", content: "Paris" },
      logprobs: null,
      finish_reason: null,
    },
  ],
};

const answerChat: Handler<ChatCompletionRequest, ChatNeeds> = async (
  { body },
  context,
  needs,
): Promise<Answer> => {
  context.fieldNames = fieldNamesOf(body);
  const answer = await beginAnswer(toChatRequest(body), context, needs);
  const form = {
    includeUsage: body.stream_options?.include_usage ?? false,
    isOlder: isOlderForm(body),
  };
  if (body.stream !== true) return { json: await toChatCompletion(answer, form) };
  return { events: toChunks(answer, form) };
};

export const chat = defineOperation({
  route: "POST /v1/chat/completions",
  name: "chat",
  genAiName: "chat",
  operationId: "createChatCompletion",
  summary: "Answer a conversation",
  description:
    "Generates the assistant's next message, as one JSON body or, with `stream`, as server-sent events that end with `data: [DONE]`.",
  tag: "Chat",
  scope: "chat",
  body: {
    ...namedSchema({ ChatCompletionRequest }),
    example: request,
    lists: [{ param: "messages", limit: "maxMessages" }],
    scopes: ({ rag }) => scopesOfRag(rag),
    answers: ({ n }) => n ?? 1,
    logged: ({ model, messages }) => ({ model, messages }),
  },
  answer: described({ ChatCompletion }, "The answer.", completion),
  stream: described(
    { ChatCompletionChunk },
    "One line `data: <chunk>` for each of these, then the line `data: [DONE]`.",
    chunk,
  ),
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: answerChat,
});
