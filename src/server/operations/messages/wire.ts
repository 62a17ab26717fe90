/** A request of Anthropic's API between the wire and the domain: pure functions, no HTTP. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import type { AnswerFormat, ChatMessage, Tool, ToolUse } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { toRag } from "../../wire/rag.ts";
import { refuse } from "../../wire/refuse.ts";
import { toSampling } from "../../wire/sampling.ts";
import { checkedToolUse } from "../../wire/tool-use.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import { toConversation } from "./conversation.ts";
import type { CountTokensRequest, MessageRequest } from "./schema.ts";

/** What the model reads. */
export interface MessagePrompt {
  messages: ChatMessage[];
  toolUse?: ToolUse;
}

export function toPrompt(body: CountTokensRequest): MessagePrompt {
  const toolUse = toToolUse(body);
  if (body.output_format && body.output_config?.format) {
    throw refuse(
      "output_format",
      "is the older name of 'output_config.format' and cannot stand beside it; send one of them",
    );
  }
  return { messages: toConversation(body), ...withoutNulls({ toolUse }) };
}

export function toChatRequest(body: MessageRequest): ChatRequest {
  return {
    model: body.model,
    ...toPrompt(body),
    sampling: toSampling(body),
    maxTokens: body.max_tokens,
    ...withoutNulls({
      stop: body.stop_sequences?.length ? body.stop_sequences : undefined,
      format: toFormat(body),
      rag: toRag(body.rag),
    }),
  };
}

/** What is shown of a reasoning model's thoughts: all, that there were any, or nothing. */
export type Thoughts = "shown" | "omitted" | "hidden";

export function toThoughts({ thinking }: Pick<MessageRequest, "thinking">): Thoughts {
  if (thinking?.type === "disabled") return "hidden";
  return thinking && "display" in thinking && thinking.display === "omitted" ? "omitted" : "shown";
}

function toFormat(body: MessageRequest): AnswerFormat | undefined {
  const format = body.output_config?.format ?? body.output_format;
  return format ? { schema: format.schema } : undefined;
}

const choices = { auto: "auto", any: "required", none: "none" } as const;

function toToolUse({ tools, tool_choice: choice }: CountTokensRequest): ToolUse | undefined {
  const disabled = choice && "disable_parallel_tool_use" in choice;
  return checkedToolUse(
    {
      tools: (tools ?? []).map(toTool),
      choice: choice?.type === "tool" ? { name: choice.name } : choice && choices[choice.type],
      parallel: !(disabled && choice.disable_parallel_tool_use === true),
    },
    { tool: (at) => `tools[${at}].name`, choice: "tool_choice.name" },
  );
}

type WireTool = NonNullable<CountTokensRequest["tools"]>[number];

function toTool(
  { type, name, description, input_schema: parameters, strict }: WireTool,
  at: number,
): Tool {
  const place = `tools[${at}]`;
  if (type !== undefined && type !== null && type !== "custom") {
    throw refuse(
      `${place}.type`,
      `is ${quoted(type)}, one of Anthropic's own tools, which this node does not have. Describe a tool of yours with 'name', 'description' and 'input_schema'`,
    );
  }
  if (name === undefined) throw refuse(`${place}.name`, "is required: a string");
  if (parameters === undefined || parameters === null) {
    throw refuse(`${place}.input_schema`, "is required: a JSON Schema");
  }
  return { name, parameters, strict: strict === true, ...withoutNulls({ description }) };
}
