/** A chat request between the wire and the domain: pure functions, no HTTP. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import type { RagRequest } from "../../../core/chat/grounding.ts";
import { NodeError } from "../../../core/errors.ts";
import type { AnswerFormat, Sampling, Tool, ToolUse } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { toFilter } from "../../wire/filter.ts";
import { toChatMessages } from "../../wire/messages.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import type { ChatCompletionRequest } from "./schema.ts";

export function toChatRequest(body: ChatCompletionRequest): ChatRequest {
  const topLogprobs = toTopLogprobs(body);
  const toolUse = toToolUse(body);
  return {
    model: body.model,
    messages: toChatMessages(body.messages),
    sampling: toSampling(body),
    ...withoutNulls({
      choices: body.n,
      maxTokens: body.max_completion_tokens ?? body.max_tokens,
      seed: body.seed,
      stop: typeof body.stop === "string" ? [body.stop] : body.stop,
      logitBias: body.logit_bias && toLogitBias(body.logit_bias),
      topLogprobs,
      format: body.response_format && toFormat(body.response_format),
      toolUse,
      rag: toRag(body.rag),
    }),
  };
}

function toRag(rag: ChatCompletionRequest["rag"]): RagRequest | undefined {
  if (rag === null || rag === undefined) return undefined;
  if (rag === true) return { bounds: {} };
  if (rag === false) return { policy: "off", bounds: {} };
  return {
    ...withoutNulls({
      policy: rag.policy,
      contextWindow: rag.context_window,
      stores: rag.vector_store_ids,
      filter: rag.filters && toFilter(rag.filters, "rag.filters"),
    }),
    bounds: withoutNulls({ limit: rag.limit, scoreThreshold: rag.score_threshold }),
  };
}

const samplingNames = {
  temperature: "temperature",
  topP: "top_p",
  topK: "top_k",
  minP: "min_p",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
  repeatPenalty: "repeat_penalty",
} as const satisfies Record<keyof Sampling, keyof ChatCompletionRequest>;

/** What a caller calls it. */
export const wireName = (name: keyof Sampling): string => samplingNames[name];

function toSampling(body: ChatCompletionRequest): Partial<Sampling> {
  return withoutNulls({
    temperature: body.temperature,
    topP: body.top_p,
    topK: body.top_k,
    minP: body.min_p,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    repeatPenalty: body.repeat_penalty,
  });
}

function toTopLogprobs({ logprobs, top_logprobs: top }: ChatCompletionRequest): number | undefined {
  if (logprobs === true) return top ?? 0;
  if (top === null || top === undefined) return undefined;
  throw refuse("top_logprobs", "needs 'logprobs' to be true");
}

function toLogitBias(biases: Readonly<Record<string, number>>): Map<number, number> {
  return new Map(Object.entries(biases).map(([id, bias]) => [Number(id), bias]));
}

function toFormat(format: NonNullable<ChatCompletionRequest["response_format"]>): AnswerFormat {
  if (format.type === "text") return "text";
  if (format.type === "json_object") return "json";
  return { schema: format.json_schema.schema };
}

function toToolUse(body: ChatCompletionRequest): ToolUse | undefined {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body;
  if (!tools?.length) {
    if (choice === null || choice === undefined || choice === "none" || choice === "auto") {
      return undefined;
    }
    throw refuse("tool_choice", "needs 'tools' to choose from");
  }
  const offered = tools.map(toTool);
  const names = offered.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice !== -1) {
    throw refuse(`tools[${twice}].function.name`, `'${names[twice]}' is the name of another tool`);
  }
  if (choice === "none") return undefined;
  const use = { tools: offered, parallel: parallel ?? true };
  if (typeof choice !== "object" || choice === null) return { ...use, choice: choice ?? "auto" };
  const { name } = choice.function;
  if (names.includes(name)) return { ...use, choice: { name } };
  throw refuse(
    "tool_choice.function.name",
    `${quoted(name)} is not one of the tools: ${names.join(", ")}`,
  );
}

function toTool({
  function: { name, description, parameters },
}: NonNullable<ChatCompletionRequest["tools"]>[number]): Tool {
  return { name, ...withoutNulls({ description, parameters }) };
}

const refuse = (param: string, why: string): NodeError =>
  new NodeError("invalid_request", `'${param}' ${why}.`, { param });
