/** Estimates token counts for servers that do not count. */
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";

/** More than any tokenizer averages: a text beyond this is too long without counting. */
export const mostBytesPerToken = 128;

/** Tokens per byte. English has 0.25; most other languages and code have less than this. */
const leastDensity = 0.5;
/** No text has more tokens than bytes. */
const mostDensity = 1;
/** Tokens that a prompt template adds per message, and per conversation. */
const aroundMessage = 8;
const aroundConversation = 16;
/** In shorter prompts, the template is too large a part to learn from. */
const leastBytes = 256;

/** An estimate that errs on the high side. */
export class TokenEstimate {
  #density = leastDensity;

  /** Upper bound for texts, with special tokens around each, or for token ids. */
  static mostOf(inputs: readonly (string | readonly number[])[]): number {
    const most = inputs.map((input) =>
      typeof input === "string" ? Buffer.byteLength(input) * mostDensity : input.length,
    );
    return most.reduce((sum, tokens) => sum + tokens + aroundMessage, 0);
  }

  ofText(text: string): number {
    return Math.ceil(Buffer.byteLength(text) * this.#density);
  }

  ofChat(messages: readonly ChatMessage[], tools: readonly Tool[] = []): number {
    return Math.ceil(bytesOf(messages, tools) * this.#density) + around(messages);
  }

  /** Learns from the server's count: shorter tokens raise later estimates. */
  learn(messages: readonly ChatMessage[], tools: readonly Tool[], tokens: number): void {
    const bytes = bytesOf(messages, tools);
    if (bytes < leastBytes) return;
    const counted = Math.min(mostDensity, (tokens - aroundConversation) / bytes);
    this.#density = Math.max(this.#density, counted);
  }
}

const around = (messages: readonly ChatMessage[]): number =>
  aroundConversation + messages.length * aroundMessage;

function bytesOf(messages: readonly ChatMessage[], tools: readonly Tool[]): number {
  const texts = messages.map((message) => {
    const calls = "toolCalls" in message ? JSON.stringify(message.toolCalls) : "";
    return Buffer.byteLength(message.content) + calls.length;
  });
  const offered = tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools));
  return texts.reduce((sum, bytes) => sum + bytes, offered);
}
