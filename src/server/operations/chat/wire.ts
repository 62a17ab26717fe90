/** A chat request between the wire and the domain: pure functions, no HTTP. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import type { AnswerFormat, ToolUse } from "../../../core/ports/chat-engine.ts";
import { toTool } from "../../wire/function-tool.ts";
import { toGenerationSettings } from "../../wire/generation-fields.ts";
import { toChatMessages } from "../../wire/messages.ts";
import { toRag } from "../../wire/rag.ts";
import { refuse } from "../../wire/refuse.ts";
import { toSampling } from "../../wire/sampling.ts";
import { checkedToolUse } from "../../wire/tool-use.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import type { ChatCompletionRequest } from "./schema.ts";

export function toChatRequest(body: ChatCompletionRequest): ChatRequest {
  const topLogprobs = toTopLogprobs(body);
  const toolUse = toToolUse(body);
  return {
    model: body.model,
    messages: toChatMessages(body.messages),
    sampling: toSampling(body),
    ...toGenerationSettings(body),
    ...withoutNulls({
      choices: body.n,
      maxTokens: body.max_completion_tokens ?? body.max_tokens,
      topLogprobs,
      format: body.response_format && toFormat(body.response_format),
      toolUse,
      rag: toRag(body.rag),
    }),
  };
}

function toTopLogprobs({ logprobs, top_logprobs: top }: ChatCompletionRequest): number | undefined {
  if (logprobs === true) return top ?? 0;
  if (top === null || top === undefined) return undefined;
  throw refuse("top_logprobs", "needs 'logprobs' to be true");
}

function toFormat(format: NonNullable<ChatCompletionRequest["response_format"]>): AnswerFormat {
  if (format.type === "text") return "text";
  if (format.type === "json_object") return "json";
  return { schema: format.json_schema.schema };
}

function toToolUse(body: ChatCompletionRequest): ToolUse | undefined {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body;
  return checkedToolUse(
    {
      tools: (tools ?? []).map(toTool),
      choice: typeof choice === "object" ? choice?.function : choice,
      parallel: parallel ?? true,
    },
    { tool: (at) => `tools[${at}].function.name`, choice: "tool_choice.function.name" },
  );
}
