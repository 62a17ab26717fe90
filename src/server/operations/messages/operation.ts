/** POST /v1/messages and /v1/messages/count_tokens */
import { Type as T } from "@sinclair/typebox";
import type { Log } from "../../../core/log.ts";
import { announceIgnored } from "../../middleware/ignored-fields.ts";
import { modelErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import { beginAnswer, type ChatNeeds, countPrompt, held, streamed } from "../../wire/answer.ts";
import * as f from "../../wire/fields.ts";
import { scopesOfRag } from "../../wire/grounding.ts";
import { type ImageNeeds, imagesFor } from "../../wire/images.ts";
import { newMessage, toEvents, toMessage } from "./answer.ts";
import { Message, MessageEvent, TokenCount } from "./answer-schema.ts";
import { ignoredHeaders, messageErrors, messageEvents, messageHeaders } from "./error-format.ts";
import { messageNames, toChatRequest, toPrompt, toThoughts } from "./request.ts";
import { CountTokensRequest, MessageRequest } from "./schema.ts";

type MessageNeeds = ChatNeeds & ImageNeeds;

const MessageQuery = T.Object({
  beta: f.acceptedAs(
    T.Optional(T.String()),
    "The header `anthropic-beta` says which are asked for.",
  ),
});

/** Errors name Anthropic's fields, and headers that are ignored are announced. */
function begin(context: RequestContext, log: Log): void {
  context.fieldNames = messageNames;
  announceIgnored(ignoredHeaders(context.requestHeaders), context, log);
}

const prompt: CountTokensRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  system: "You are a helpful assistant.",
  messages: [{ role: "user", content: "What is the capital of France?" }],
};

const request: MessageRequest = { ...prompt, max_tokens: 64 };

const usage = { promptTokens: 39, cachedTokens: 0, completionTokens: 7, reasoningTokens: 0 };

const message: Message = {
  ...newMessage(prompt, usage),
  id: "msg_2f9d7c1e5a314f0b9c573d6a1f0e8b42",
  content: [{ type: "text", text: "The capital of France is Paris." }],
  stop_reason: "end_turn",
};

const event: MessageEvent = {
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "Paris" },
};

const errors = {
  ...modelErrors,
  400: "Malformed JSON or an invalid field; the message names it.",
  404: "There is no such model, or it has another type.",
  429: "The caller's limit is reached; `Retry-After` says when to retry.",
  500: "The node failed.",
  503: "The collection is not ready yet, or a service that the model needs is away.",
  529: "The model is not ready yet, or too many requests are waiting.",
};

export const messageOperations = [
  defineOperation({
    route: "POST /v1/messages",
    name: "messages",
    genAiName: "chat",
    operationId: "createMessage",
    summary: "Answer a conversation, in Anthropic's API",
    description:
      "Generates the assistant's next message, as one JSON body or, with `stream`, as server-sent events from `message_start` to `message_stop`.",
    tag: "Chat",
    scope: "chat",
    query: MessageQuery,
    body: {
      ...namedSchema({ MessageRequest }),
      example: request,
      lists: [{ param: "messages", limit: "maxMessages" }],
      scopes: ({ rag }) => scopesOfRag(rag),
      logged: ({ model, system, messages }) => ({ model, system, messages }),
    },
    answer: described({ Message }, "The answer.", message),
    stream: described(
      { MessageEvent },
      "The lines `event: <type>` and `data: <event>` for each of these.",
      event,
    ),
    errorFormat: messageErrors,
    headerFormat: messageHeaders,
    errors,
    handler: async ({ body }, context, needs: MessageNeeds) => {
      begin(context, needs.log);
      const request = toChatRequest(body, imagesFor(body.model, context, needs));
      const { contextSize } = needs.models.chat(body.model).engine;
      let promptTokens = 0;
      const onStart = (tokens: number): void => {
        promptTokens = tokens;
      };
      const start = () => beginAnswer(request, context, needs, { onStart });
      const options = {
        thoughts: toThoughts(body),
        promptTokens: () => promptTokens,
        stops: body.stop_sequences ?? [],
        maxTokens: body.max_tokens,
        contextSize,
      };
      if (body.stream !== true) {
        return { json: await toMessage(held(await start(), context), options) };
      }
      const events = streamed(start, (answer) => toEvents(answer, options));
      return { events, format: messageEvents(context.id) };
    },
  }),
  defineOperation({
    route: "POST /v1/messages/count_tokens",
    name: "count_tokens",
    operationId: "countMessageTokens",
    summary: "Count the tokens of a conversation, in Anthropic's API",
    tag: "Chat",
    scope: "chat",
    query: MessageQuery,
    body: {
      ...namedSchema({ CountTokensRequest }),
      example: prompt,
      lists: [{ param: "messages", limit: "maxMessages" }],
      logged: ({ model, system, messages }) => ({ model, system, messages }),
    },
    answer: described({ TokenCount }, "The count.", { input_tokens: 39 }),
    errorFormat: messageErrors,
    headerFormat: messageHeaders,
    errors,
    handler: async ({ body }, context, needs: MessageNeeds) => {
      begin(context, needs.log);
      const { messages, toolUse } = toPrompt(body, imagesFor(body.model, context, needs));
      const { engine } = needs.models.chat(body.model);
      return { json: { input_tokens: await countPrompt(engine, messages, toolUse, context) } };
    },
  }),
] as const;
