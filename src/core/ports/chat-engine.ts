/** What a chat model does, whatever runs it. */
import type { Report } from "./telemetry.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface ToolCall {
  id: string;
  name: string;
  /** JSON. */
  arguments: string;
}

export type ChatMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string }
  | { role: "assistant"; content: string; toolCalls?: readonly ToolCall[] }
  /** The result of a tool call of the assistant message before it. */
  | { role: "tool"; toolCallId: string; content: string };

export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments; absent: it takes none. */
  parameters?: unknown;
  /** Where false, what of the parameters a grammar cannot hold is let go; else they are refused. */
  strict?: boolean;
}

/** `auto`: the model decides; `required`: some tool; a name: that tool. */
export type ToolChoice = "auto" | "required" | { name: string };

export interface ToolUse {
  tools: readonly Tool[];
  choice: ToolChoice;
  /** Whether one answer may call several tools, where the model's template can. */
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
  /** DRY ("don't repeat yourself"): what a token loses that would go on with a repetition; 0: off. */
  dryMultiplier: number;
  /** How much more it loses with each token of the repetition. */
  dryBase: number;
  /** How many tokens may be repeated without a loss. */
  dryAllowedLength: number;
}

/** How an answer is generated, whatever it is an answer to. */
export interface GenerationSettings {
  sampling: Sampling;
  /** Most tokens to generate; absent: as many as the context has room for. */
  maxTokens?: number;
  /** Absent: another one each time. */
  seed?: number;
  /** Texts that end the answer; neither they nor a part of them is in it. */
  stop?: readonly string[];
  /** Added to the logits of tokens, by token id. */
  logitBias?: ReadonlyMap<number, number>;
  /** How many alternatives to report for each token; absent: no log probabilities at all. */
  topLogprobs?: number;
}

/** The next message of a conversation, which the model's template makes a prompt of. */
export interface GenerationRequest extends GenerationSettings {
  messages: readonly ChatMessage[];
  format?: AnswerFormat;
  toolUse?: ToolUse;
}

/**
 * A text, which begins as the model's file says, and in which special tokens count; or the ids of
 * its tokens, which are taken as they are. An empty text is the beginning of a document.
 */
export type RawPrompt = string | readonly number[];

/** What follows a prompt that no template was applied to; the answer is text as it is. */
export interface CompletionRequest extends GenerationSettings {
  prompt: RawPrompt;
  /** What follows the answer: the model fills in the middle, where it was trained to. */
  suffix?: string;
  /** Whether the prompt comes before the answer, with its log probabilities where they are asked for. */
  echo?: boolean;
}

export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: readonly number[];
}

export interface TokenLogprobs extends TokenLogprob {
  /** The likeliest tokens in its place, likeliest first. */
  top: readonly TokenLogprob[];
}

/** `content_filter`: what serves the model left out the rest. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

export interface TokenUsage {
  promptTokens: number;
  /** Those of the prompt that needed no evaluation. */
  cachedTokens: number;
  completionTokens: number;
  /** Those of the completion that were thoughts. */
  reasoningTokens: number;
}

export type GenerationEvent =
  /**
   * `echoed`: it is the prompt, and none of it was generated; nothing comes before its first token, so
   * that token's log probability is 0. Those of a long prompt come in several events, of which the
   * first has the text.
   */
  | { type: "text"; text: string; logprobs?: readonly TokenLogprobs[]; echoed?: true }
  /** A reasoning model's thoughts, which are not part of its answer. */
  | { type: "reasoning"; text: string }
  /** A call begins; its arguments follow piece by piece. */
  | { type: "tool-call"; index: number; id: string; name: string }
  | { type: "tool-arguments"; index: number; text: string }
  /** `stop`: which of the stop texts ended it, where one did and what runs the model tells. */
  | { type: "finish"; reason: FinishReason; usage: TokenUsage; stop?: string };

/** How an answer has ended, and what it used. */
export type Finish = Extract<GenerationEvent, { type: "finish" }>;

export interface CallOptions {
  signal: AbortSignal;
  /** The caller: those that wait are served in turn. */
  caller?: string;
  /** Only prompts of one scope share what is evaluated of them; absent: everybody's who names none. */
  prefixScope?: string;
  /** Called once, when the request leaves the line and its prompt of so many tokens begins to be evaluated. */
  onStart?: (promptTokens: number) => void;
  /** Which prompt of its request it is, where that has several; only who measures needs it. */
  promptPlace?: number;
  /** Hears what is done; engines need not tell, who measures them does. */
  report?: Report;
}

export interface ChatEngine {
  /** Most tokens of a prompt and its answer. */
  readonly contextSize: number;
  /** Absent where the vocabulary is not known here. */
  readonly tokenizer?: Tokenizer | undefined;
  /** How many tokens the prompt of a conversation has; Infinity where it is known to be more than the context, and nobody counted further. */
  countTokens(
    messages: readonly ChatMessage[],
    tools?: readonly Tool[],
    options?: { signal: AbortSignal },
  ): Promise<number>;
  /**
   * Generates an answer. The events end in exactly one `finish`; text that is generated is never
   * empty, and no event cuts a character in two. An aborted `signal` ends the iteration with the
   * signal's reason within one token, as does returning from the iteration early.
   */
  generate(
    request: GenerationRequest | CompletionRequest,
    options: CallOptions,
  ): AsyncIterable<GenerationEvent>;
}
