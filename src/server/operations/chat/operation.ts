/** POST /v1/chat/completions */
import { defineOperation } from "../../define-operation.ts";
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { scopesOfRag } from "../../wire/rag.ts";
import { chatExamples } from "./examples.ts";
import { answerChat } from "./handler.ts";
import { ChatCompletion, ChatCompletionChunk, ChatCompletionRequest } from "./schema.ts";

export const chat = defineOperation({
  method: "POST",
  path: "/v1/chat/completions",
  name: "chat",
  genAiName: "chat",
  operationId: "createChatCompletion",
  summary: "Answer a conversation",
  description:
    "Generates the assistant's next message, as one JSON body or, with `stream`, as server-sent events that end with `data: [DONE]`.",
  tag: tags.chat,
  scope: "chat",
  body: {
    name: "ChatCompletionRequest",
    schema: ChatCompletionRequest,
    example: chatExamples.request,
    lists: [{ param: "messages", limit: "maxMessages" }],
    scopes: ({ rag }) => scopesOfRag(rag),
    answers: ({ n }) => n ?? 1,
    logged: ({ model, messages }) => ({ model, messages }),
  },
  answer: {
    name: "ChatCompletion",
    schema: ChatCompletion,
    description: "The answer.",
    example: chatExamples.completion,
  },
  stream: {
    name: "ChatCompletionChunk",
    schema: ChatCompletionChunk,
    description: "One line `data: <chunk>` for each of these, then the line `data: [DONE]`.",
    example: chatExamples.chunk,
  },
  errorFormat: specifiedErrors,
  errors: specifiedModelErrors,
  handler: answerChat,
});
