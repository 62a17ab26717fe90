/** OpenAI API request bodies for a generation, adapted to the kind of server. */
import { imagesOf } from "../../core/chat/images.ts";
import { NodeError } from "../../core/errors.ts";
import type {
  AnswerFormat,
  ChatMessage,
  CompletionRequest,
  GenerationRequest,
  MessageImage,
  Tool,
  ToolChoice,
} from "../../core/ports/chat-engine.ts";
import type { Body } from "./http-exchange.ts";
import { type ServerKind, toSampling } from "./server-facts.ts";

export interface ChatRequestOptions {
  model: string;
  kind: ServerKind;
  /** The server's limit for a prompt and its answer together, in tokens. */
  contextSize: number;
  /** Prompts with the same scope may share cached prefixes. */
  prefixScope?: string | undefined;
}

export function toChatBody(request: GenerationRequest, options: ChatRequestOptions): Body {
  const { messages, topLogprobs, format, toolUse } = request;
  // JSON omits undefined fields.
  const rest = {
    ...commonFields(request, options),
    max_tokens: toMaxTokens(request, options),
    response_format: format && toResponseFormat(format),
    tools: toolUse && toWireTools(toolUse.tools),
    tool_choice: toolUse && toToolChoice(toolUse.choice),
    parallel_tool_calls: toolUse?.parallel,
    logprobs: topLogprobs === undefined ? undefined : true,
    top_logprobs: topLogprobs,
  };
  return withMessages(rest, messages);
}

const commonFields = (
  { sampling, seed, stop, logitBias }: GenerationRequest | CompletionRequest,
  { model, kind, contextSize, prefixScope }: ChatRequestOptions,
) => ({
  model,
  stream: true,
  stream_options: { include_usage: true },
  ...toSampling(sampling, kind, contextSize),
  seed,
  stop,
  logit_bias: logitBias && Object.fromEntries(logitBias),
  // Other servers cannot separate callers; see docs/scaling.md.
  cache_salt: kind === "vllm" ? prefixScope && digest(prefixScope) : undefined,
});

/** vLLM and SGLang refuse more than the context holds; without a number, they fill it. */
function toMaxTokens(
  { maxTokens }: GenerationRequest,
  { kind, contextSize }: ChatRequestOptions,
): number | undefined {
  const fillsContext = kind === "vllm" || kind === "sglang";
  const isAll = maxTokens !== undefined && maxTokens >= contextSize;
  return fillsContext && isAll ? undefined : maxTokens;
}

export const withMessages = (fields: object, messages: readonly ChatMessage[]): Body => {
  const rest = JSON.stringify(fields).slice(1, -1);
  return [`{${rest === "" ? "" : `${rest},`}"messages":`, written(messages), "}"];
};

/** Several answers to one conversation are separate requests; it is serialized once for all. */
const known = new WeakMap<readonly ChatMessage[], Uint8Array>();

function written(messages: readonly ChatMessage[]): Uint8Array {
  const before = known.get(messages);
  if (before !== undefined) return before;
  const bytes = Buffer.from(JSON.stringify(messages.map(toWireMessage)));
  known.set(messages, bytes);
  return bytes;
}

function toWireMessage(message: ChatMessage): object {
  const { role } = message;
  const content = toWireContent(message);
  if (message.role === "tool") return { role, tool_call_id: message.toolCallId, content };
  if (message.role !== "assistant" || !message.toolCalls?.length) return { role, content };
  return {
    role,
    content: content === "" ? null : content,
    tool_calls: message.toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

/** Text, or where there are images a list of parts with each image in its place. */
function toWireContent(message: ChatMessage): string | object[] {
  const { content } = message;
  const images = imagesOf(message);
  if (images.length === 0) return content;
  const ends = [...images.map(({ at }) => at), content.length];
  const texts = ends.map((end, index) => content.slice(ends[index - 1] ?? 0, end));
  return texts.flatMap((text, index) => {
    const image = images[index];
    return [
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...(image === undefined ? [] : [toWireImage(image)]),
    ];
  });
}

function toWireImage(image: MessageImage): object {
  if ("file" in image) throw new NodeError("internal", "An uploaded image was not read.");
  const { url, detail } = image;
  return { type: "image_url", image_url: { url, detail } };
}

export const toWireTools = (tools: readonly Tool[]): object[] =>
  tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
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

/** Throws for options that servers interpret differently. */
export function toCompletionBody(request: CompletionRequest, options: ChatRequestOptions): Body {
  refuseUnknown(request);
  const leastLogprobs = options.kind === "llama-server" ? 1 : 0;
  const { prompt, maxTokens, topLogprobs } = request;
  const fields = {
    prompt,
    ...commonFields(request, options),
    max_tokens: maxTokens,
    // With 0, llama-server reports none at all, not even the token's own.
    logprobs: topLogprobs === undefined ? undefined : Math.max(topLogprobs, leastLogprobs),
  };
  return [JSON.stringify(fields)];
}

/** The prompt if it is to precede the answer; added here, since not all servers repeat it. */
export function echoOf({ prompt, echo }: CompletionRequest): string {
  return echo === true && typeof prompt === "string" ? prompt : "";
}

function refuseUnknown({ prompt, echo, suffix, topLogprobs, maxTokens }: CompletionRequest): void {
  if (suffix !== undefined) {
    throw refused("suffix", "write the model's own tokens for filling in into 'prompt'");
  }
  if (echo === true && topLogprobs !== undefined) throw refused("echo", "leave out 'logprobs'");
  if (echo === true && typeof prompt !== "string") throw refused("echo", "send 'prompt' as text");
  if (maxTokens === 0) throw refused("max_tokens", "send at least 1");
}

const refused = (param: string, what: string): NodeError =>
  new NodeError(
    "invalid_request",
    `'${param}' cannot be honoured like this for an upstream model; ${what}.`,
    { param },
  );
