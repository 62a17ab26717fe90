/** Converts a chat request from the wire to the domain: pure functions, no HTTP. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import { checkedToolUse } from "../../../core/chat/conversation.ts";
import type { AnswerFormat, ToolUse } from "../../../core/ports/chat-engine.ts";
import { chatNames, type FieldNames, inList } from "../../wire/field-names.ts";
import { refuse, withoutNulls } from "../../wire/fields.ts";
import { toGenerationSettings, toSampling } from "../../wire/generation-fields.ts";
import { toRag } from "../../wire/grounding.ts";
import { toChatMessages, toTool } from "../../wire/messages.ts";
import type { ChatCompletionRequest } from "./schema.ts";

export function toChatRequest(body: ChatCompletionRequest): ChatRequest {
  return {
    model: body.model,
    messages: toChatMessages(body.messages),
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
export const isOlderForm = ({
  functions,
  function_call: choice,
}: Pick<ChatCompletionRequest, "functions" | "function_call">): boolean =>
  (functions ?? choice ?? null) !== null;

const olderNames: FieldNames = {
  ...chatNames,
  tools: inList("functions", ".parameters"),
  tool: inList("functions", ".name"),
  choice: () => "function_call",
  chosen: () => "function_call.name",
};

/** The request's field names for the parts that an error may be about. */
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
    tools: (tools ?? []).map(toTool),
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
  const offered = (functions ?? []).map((one) => toTool({ function: one }));
  return checkedToolUse({ tools: offered, choice, parallel: false });
}
