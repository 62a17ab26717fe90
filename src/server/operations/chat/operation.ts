/** POST /v1/chat/completions, and its request as the domain's. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import { checkedToolUse } from "../../../core/chat/conversation.ts";
import type { AnswerFormat, ToolUse } from "../../../core/ports/chat-engine.ts";
import { specifiedErrors } from "../../middleware/errors.ts";
import { specifiedModelErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { beginAnswer, type ChatNeeds, held, streamed } from "../../wire/answer.ts";
import { toUsage } from "../../wire/completion.ts";
import { chatNames, type FieldNames, inList } from "../../wire/field-names.ts";
import { refuse, withoutNulls } from "../../wire/fields.ts";
import { toGenerationSettings, toSampling } from "../../wire/generation-fields.ts";
import { scopesOfRag, toRag } from "../../wire/grounding.ts";
import { type ImageNeeds, type ImageReader, imagesFor } from "../../wire/images.ts";
import { toChatMessages, toTool } from "../../wire/messages.ts";
import { toChatCompletion, toChunks } from "./completion.ts";
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
  handler: async ({ body }, context, needs: ChatNeeds & ImageNeeds) => {
    context.fieldNames = fieldNamesOf(body);
    const request = toChatRequest(body, imagesFor(body.model, context, needs));
    const begin = () => beginAnswer(request, context, needs);
    const includeUsage = body.stream_options?.include_usage ?? false;
    const form = { includeUsage, isOlder: isOlderForm(body) };
    if (body.stream !== true) {
      return { json: await toChatCompletion(held(await begin(), context), form) };
    }
    return { events: streamed(begin, (answer) => toChunks(answer, form)) };
  },
});

function toChatRequest(body: ChatCompletionRequest, readImage: ImageReader): ChatRequest {
  return {
    model: body.model,
    messages: toChatMessages(body.messages, readImage),
    sampling: toSampling(body),
    ...toGenerationSettings(body),
    ...withoutNulls({
      choices: body.n,
      maxTokens: body.max_completion_tokens ?? body.max_tokens,
      topLogprobs: toTopLogprobs(body),
      format: body.response_format && toFormat(body.response_format),
      toolUse: toToolUse(body),
      rag: toRag(body.rag),
    }),
  };
}

/** Whether it uses `functions`, the form before `tools`; the answer then uses it too. */
const isOlderForm = ({ functions, function_call: choice }: ChatCompletionRequest): boolean =>
  (functions ?? choice ?? null) !== null;

const olderNames: FieldNames = {
  ...chatNames,
  tools: inList("functions", ".parameters"),
  tool: inList("functions", ".name"),
  choice: () => "function_call",
  chosen: () => "function_call.name",
};

export const fieldNamesOf = (body: ChatCompletionRequest): FieldNames => ({
  ...(isOlderForm(body) ? olderNames : chatNames),
  ...(body.response_format?.type === "json_object"
    ? { schema: () => "response_format.schema" }
    : {}),
  ...(body.max_completion_tokens ? { "max tokens": () => "max_completion_tokens" } : {}),
});

function toTopLogprobs({ logprobs, top_logprobs: top }: ChatCompletionRequest): number | undefined {
  if (logprobs === true) return top ?? 0;
  if (top === null || top === undefined) return undefined;
  throw refuse("top_logprobs", "needs 'logprobs' to be true");
}

function toFormat(format: NonNullable<ChatCompletionRequest["response_format"]>): AnswerFormat {
  if (format.type === "text") return "text";
  if (format.type === "json_schema") return { schema: format.json_schema.schema };
  const { schema } = format;
  return schema === null || schema === undefined ? "json" : { schema };
}

function toToolUse(body: ChatCompletionRequest): ToolUse | undefined {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body;
  if (isOlderForm(body)) return toFunctionUse(body);
  return checkedToolUse({
    tools: (tools ?? []).map((tool) => toTool(tool.function)),
    choice: typeof choice === "object" ? choice?.function : choice,
    parallel: parallel ?? true,
  });
}

/** The older form has room for one call only. */
function toFunctionUse(body: ChatCompletionRequest): ToolUse | undefined {
  const { functions, function_call: choice, tools, tool_choice: newer } = body;
  if ((tools ?? newer ?? null) !== null) {
    throw refuse("functions", "cannot be used with 'tools' and 'tool_choice', which replace it");
  }
  return checkedToolUse({ tools: (functions ?? []).map(toTool), choice, parallel: false });
}
