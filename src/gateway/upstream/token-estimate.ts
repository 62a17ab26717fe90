/** How many tokens a text may have if its server does not count them. */
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";

/** No tokenizer has tokens of so many bytes all along: what is longer is not counted. */
export const mostBytesPerToken = 128;

/** Tokens a byte. English has a quarter, most other languages and code less than this. */
const leastDensity = 0.5;
/** No text has more tokens than bytes, whatever a server counts. */
const mostDensity = 1;
/** What a prompt template puts around a message, and around the conversation. */
const aroundMessage = 8;
const aroundConversation = 16;
/** Of shorter prompts a template is too large a part to learn from. */
const leastBytes = 256;

/** How many tokens a text may have if nobody counts them: rather too many than too few. */
export class TokenEstimate {
  #density = leastDensity;

  /** Most that texts may have, with the model's markers around each; of ids the ids. */
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

  /** What the server counted: one whose tokens are shorter is estimated higher from then on. */
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
