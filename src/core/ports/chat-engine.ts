/** What a chat model does, whatever runs it. */

export type ChatMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string }
  | { role: "assistant"; content: string };

export interface Sampling {
  temperature: number;
  topP: number;
  presencePenalty: number;
  frequencyPenalty: number;
  repeatPenalty: number;
}

export interface GenerationRequest {
  messages: readonly ChatMessage[];
  sampling: Sampling;
  /** Most tokens to generate; absent: as many as the context has room for. */
  maxTokens?: number;
}

type FinishReason = "stop" | "length";

export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
}

export type GenerationEvent =
  | { type: "text"; text: string }
  | { type: "finish"; reason: FinishReason; usage: TokenUsage };

export interface ChatEngine {
  /**
   * Generates an answer. The events end in exactly one `finish`; text events are never empty and
   * never cut a character in two. An aborted `signal` ends the iteration with the signal's reason
   * within one token, as does returning from the iteration early.
   */
  generate(
    request: GenerationRequest,
    options: { signal: AbortSignal },
  ): AsyncIterable<GenerationEvent>;
}
