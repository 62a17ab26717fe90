/** Port: a chat model, on this machine or upstream. */
import type { EngineCall } from "./telemetry.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface ToolCall {
  id: string;
  name: string;
  /** JSON. */
  arguments: string;
}

/** A `data:` address, an http(s) address that the model's server fetches, or an uploaded file's id. */
export type Image = ({ url: string } | { file: string }) & {
  /** How closely the model should look, as the caller wrote it. */
  detail?: string;
};

/** `at`: how many characters of the message's text come before it. */
export type MessageImage = Image & { at: number };

export interface Content {
  content: string;
  /** Only for a model with vision; uploaded files are `data:` addresses when an engine sees them. */
  images?: readonly MessageImage[];
}

export type ChatMessage =
  | { role: "system"; content: string }
  | ({ role: "user" } & Content)
  | { role: "assistant"; content: string; toolCalls?: readonly ToolCall[] }
  /** The result of a tool call of the assistant message before it. */
  | ({ role: "tool"; toolCallId: string } & Content);

export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments; absent: it takes none. */
  parameters?: unknown;
  /** If false, parts of the schema that a grammar cannot express are ignored; otherwise they are refused. */
  strict?: boolean;
}

/** `auto`: the model decides; `required`: some tool; a name: that tool. */
export type ToolChoice = "auto" | "required" | { name: string };

export interface ToolUse {
  tools: readonly Tool[];
  choice: ToolChoice;
  /** Whether one answer may call several tools, if the model's template supports it. */
  parallel: boolean;
}

/** `json`: any JSON object; a schema: JSON that validates against it. */
export type AnswerFormat = "text" | "json" | { schema: unknown };

export interface Sampling {
  temperature: number;
  topP: number;
  /** 0: off. */
  topK: number;
  /** 0: off. */
  minP: number;
  presencePenalty: number;
  frequencyPenalty: number;
  /** 1: off. */
  repeatPenalty: number;
  /** How many of the answer's last tokens penalties and DRY look at; -1: all; 0: none. */
  repeatLastN: number;
  /** DRY ("don't repeat yourself"): penalty of a token that would continue a repetition; 0: off. */
  dryMultiplier: number;
  /** How fast the penalty grows with each token of the repetition. */
  dryBase: number;
  /** How many tokens may be repeated without a penalty. */
  dryAllowedLength: number;
}

/** Settings that chats and completions share. */
export interface GenerationSettings {
  sampling: Sampling;
  /** Most tokens to generate; absent: as many as the context has room for. */
  maxTokens?: number;
  /** Absent: random. */
  seed?: number;
  /** Texts that end the answer; it contains none of them, not even a part. */
  stop?: readonly string[];
  /** Added to the logits of tokens, by token id. */
  logitBias?: ReadonlyMap<number, number>;
  /** How many alternatives to report for each token; absent: no log probabilities. */
  topLogprobs?: number;
}

/** Asks for the next message of a conversation; the model's template turns it into a prompt. */
export interface GenerationRequest extends GenerationSettings {
  messages: readonly ChatMessage[];
  format?: AnswerFormat;
  toolUse?: ToolUse;
}

/** A text, with special tokens parsed and the model's start token; or token ids as they are. An empty text begins a document. */
export type RawPrompt = string | readonly number[];

/** Continues a prompt without a template; the answer is plain text. */
export interface CompletionRequest extends GenerationSettings {
  prompt: RawPrompt;
  /** The text after the answer: the model fills in the middle, if it was trained to. */
  suffix?: string;
  /** Whether to return the prompt before the answer, with its log probabilities if requested. */
  echo?: boolean;
}

export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: readonly number[];
}

export interface TokenLogprobs extends TokenLogprob {
  /** The likeliest tokens at this position, likeliest first. */
  top: readonly TokenLogprob[];
}

/** `content_filter`: the upstream server left out the rest. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

export interface TokenUsage {
  promptTokens: number;
  /** Prompt tokens that came from the prefix cache. */
  cachedTokens: number;
  completionTokens: number;
  /** Completion tokens that were reasoning. */
  reasoningTokens: number;
}

export type GenerationEvent =
  /** `echoed`: the prompt, not generated; its first log probability is 0. Those of a long prompt come in several events, the first with the text. */
  | { type: "text"; text: string; logprobs?: readonly TokenLogprobs[]; echoed?: true }
  /** Reasoning, which is not part of the answer. */
  | { type: "reasoning"; text: string }
  /** A call begins; its arguments follow piece by piece. */
  | { type: "tool-call"; index: number; id: string; name: string }
  | { type: "tool-arguments"; index: number; text: string }
  /** `stop`: the stop text that ended the answer, if one did and the engine reports it. */
  | { type: "finish"; reason: FinishReason; usage: TokenUsage; stop?: string };

export type Finish = Extract<GenerationEvent, { type: "finish" }>;

export interface CallOptions extends EngineCall {
  /** Only prompts of the same scope share a prefix cache; absent: shared by all without a scope. */
  prefixScope?: string;
  /** Called once, when the request leaves the queue and evaluation of its prompt begins. */
  onStart?: (promptTokens: number) => void;
  /** Index of the prompt if the request has several; only for measurements. */
  promptPlace?: number;
}

export interface ChatEngine {
  /** Most tokens of a prompt and its answer. */
  readonly contextSize: number;
  /** Absent if the vocabulary is not known here. */
  readonly tokenizer?: Tokenizer | undefined;
  /** Tokens of a conversation's prompt; Infinity if counting stopped because it exceeds the context. */
  countTokens(
    messages: readonly ChatMessage[],
    tools?: readonly Tool[],
    options?: Pick<EngineCall, "signal" | "caller">,
  ): Promise<number>;
  /** Ends with exactly one `finish`; text is never empty and splits no character. Aborting throws, and returning early ends, within one token. */
  generate(
    request: GenerationRequest | CompletionRequest,
    options: CallOptions,
  ): AsyncIterable<GenerationEvent>;
}
