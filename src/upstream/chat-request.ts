/** A generation as a request of the OpenAI API, in the words of the server that it goes to. */
import { given } from "../core/given.ts";
import type {
  AnswerFormat,
  ChatMessage,
  GenerationRequest,
  Tool,
  ToolChoice,
} from "../core/ports/chat-engine.ts";
import { type ServerKind, toSampling } from "./server-kind.ts";

export interface ChatRequestOptions {
  model: string;
  kind: ServerKind;
  /** Whose prompts may share what is evaluated of them. */
  prefixScope?: string;
}

/** JSON. */
export function toChatBody(
  request: GenerationRequest,
  { model, kind, prefixScope }: ChatRequestOptions,
): string {
  const { messages, sampling, logitBias, topLogprobs, format, toolUse } = request;
  const rest = {
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...toSampling(sampling, kind),
    ...given({
      max_tokens: request.maxTokens,
      seed: request.seed,
      stop: request.stop,
      logit_bias: logitBias && Object.fromEntries(logitBias),
      response_format: format && toResponseFormat(format),
      tools: toolUse && toWireTools(toolUse.tools),
      tool_choice: toolUse && toToolChoice(toolUse.choice),
      parallel_tool_calls: toolUse?.parallel,
      // Other servers have no way to keep callers apart; see docs/scaling.md.
      cache_salt: kind === "vllm" ? prefixScope && digest(prefixScope) : undefined,
    }),
    ...(topLogprobs === undefined ? {} : { logprobs: true, top_logprobs: topLogprobs }),
  };
  return `${JSON.stringify(rest).slice(0, -1)},"messages":${wireMessages(messages)}}`;
}

/** Several answers to one conversation are asked for one by one; it is written once. */
const written = new WeakMap<readonly ChatMessage[], string>();

/** JSON. */
export function wireMessages(messages: readonly ChatMessage[]): string {
  const known = written.get(messages);
  if (known !== undefined) return known;
  const text = JSON.stringify(messages.map(toWireMessage));
  written.set(messages, text);
  return text;
}

function toWireMessage(message: ChatMessage): object {
  if (message.role === "tool") {
    const { content, toolCallId } = message;
    return { role: "tool", tool_call_id: toolCallId, content };
  }
  if (message.role !== "assistant" || !message.toolCalls?.length) {
    const { role, content } = message;
    return { role, content };
  }
  const { content, toolCalls } = message;
  return {
    role: "assistant",
    content: content === "" ? null : content,
    tool_calls: toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

export const toWireTools = (tools: readonly Tool[]): object[] =>
  tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, ...given({ description, parameters }) },
  }));

const toToolChoice = (choice: ToolChoice): unknown =>
  typeof choice === "string" ? choice : { type: "function", function: choice };

function toResponseFormat(format: AnswerFormat): object {
  if (format === "text") return { type: "text" };
  if (format === "json") return { type: "json_object" };
  const { schema } = format;
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
}

const digest = (text: string): string =>
  new Bun.CryptoHasher("sha256").update(text).digest("base64url");
