/** POST /v1/messages and /v1/messages/count_tokens */
import { defineOperation } from "../../define-operation.ts";
import { modelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { scopesOfRag } from "../../wire/rag.ts";
import { Message, MessageEvent, TokenCount } from "./answer-schema.ts";
import { messageErrors } from "./error-format.ts";
import { messageExamples } from "./examples.ts";
import { answerMessage, countMessageTokens } from "./handler.ts";
import { messageHeaders } from "./headers.ts";
import { CountTokensRequest, MessageRequest } from "./schema.ts";

/** The statuses of Anthropic's API. */
const errors = {
  ...modelErrors,
  400: "Malformed JSON or an invalid field; the message names it.",
  404: "The named model is not on this node, or of another type.",
  429: "The caller's limit is reached; `Retry-After` says when to ask again.",
  500: "The node failed.",
  503: "The collection is not ready yet, or what the model needs is away.",
  529: "The model is not ready yet, or too many requests wait already.",
};

export const createMessage = defineOperation({
  method: "POST",
  path: "/v1/messages",
  name: "messages",
  genAiName: "chat",
  operationId: "createMessage",
  summary: "Answer a conversation, as Anthropic's API has it",
  description:
    "Generates the assistant's next message, as one JSON body or, with `stream`, as server-sent events from `message_start` to `message_stop`.",
  tag: tags.chat,
  scope: "chat",
  body: {
    name: "MessageRequest",
    schema: MessageRequest,
    example: messageExamples.request,
    lists: [{ param: "messages", limit: "maxMessages" }],
    scopes: ({ rag }) => scopesOfRag(rag),
    logged: ({ model, system, messages }) => ({ model, system, messages }),
  },
  answer: {
    name: "Message",
    schema: Message,
    description: "The answer.",
    example: messageExamples.message,
  },
  stream: {
    name: "MessageEvent",
    schema: MessageEvent,
    description: "The lines `event: <type>` and `data: <event>` for each of these.",
    example: messageExamples.event,
  },
  errorFormat: messageErrors,
  headerFormat: messageHeaders,
  errors,
  handler: answerMessage,
});

export const countTokens = defineOperation({
  method: "POST",
  path: "/v1/messages/count_tokens",
  name: "count_tokens",
  operationId: "countMessageTokens",
  summary: "Count the tokens of a conversation, as Anthropic's API has it",
  tag: tags.chat,
  scope: "chat",
  body: {
    name: "CountTokensRequest",
    schema: CountTokensRequest,
    example: messageExamples.prompt,
    lists: [{ param: "messages", limit: "maxMessages" }],
    logged: ({ model, system, messages }) => ({ model, system, messages }),
  },
  answer: {
    name: "TokenCount",
    schema: TokenCount,
    description: "How many there are.",
    example: { input_tokens: 39 },
  },
  errorFormat: messageErrors,
  headerFormat: messageHeaders,
  errors,
  handler: countMessageTokens,
});
