/** Counts tokens with the server that has the model, where it does that. */
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";
import { askJson, garbage, type Question, type Upstream } from "./ask.ts";
import { toWireTools, withMessages } from "./chat-request.ts";
import { countAt, listAt, textAt } from "./json-fields.ts";
import type { ServerKind } from "./server-facts.ts";

export type ChatCounter = (
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
  signal: AbortSignal,
) => Promise<number>;

/** How many tokens each text has, with the model's own markers. */
export type TextCounter = (texts: readonly string[], signal: AbortSignal) => Promise<number[]>;

/** Undefined where such a server counts no conversations. */
export function chatCounter(target: Upstream, kind: ServerKind): ChatCounter | undefined {
  const { upstreamModel: model } = target;
  const ask = asker(target, "messages");
  const bodyOf = (fields: object, messages: readonly ChatMessage[], tools: readonly Tool[]) =>
    withMessages(tools.length === 0 ? fields : { ...fields, tools: toWireTools(tools) }, messages);
  if (kind === "vllm") {
    return async (messages, tools, signal) => {
      const answer = await ask("/tokenize", bodyOf({ model }, messages, tools), signal);
      return counted(target, countAt(answer, "count"));
    };
  }
  if (kind !== "llama-server") return undefined;
  return async (messages, tools, signal) => {
    const rendered = await ask("/apply-template", bodyOf({}, messages, tools), signal);
    return await countLlama(target, textAt(rendered, "prompt") ?? "", signal);
  };
}

/** Undefined where such a server counts no texts. */
export function textCounter(target: Upstream, kind: ServerKind): TextCounter | undefined {
  const { upstreamModel: model } = target;
  const ask = asker(target, "input");
  switch (kind) {
    case "vllm":
      return oneByOne(async (prompt, signal) => {
        const answer = await ask("/tokenize", JSON.stringify({ model, prompt }), signal);
        return counted(target, countAt(answer, "count"));
      });
    case "llama-server":
      return oneByOne((text, signal) => countLlama(target, text, signal));
    case "tei":
      return oneByOne(async (inputs, signal) => {
        const answer = await ask("/tokenize", JSON.stringify({ inputs }), signal);
        const [tokens] = Array.isArray(answer) ? answer : [];
        return counted(target, Array.isArray(tokens) ? tokens.length : undefined);
      });
    default:
      return undefined;
  }
}

async function countLlama(target: Upstream, content: string, signal: AbortSignal) {
  const body = JSON.stringify({ content, add_special: true, parse_special: true });
  const answer = await asker(target, "input")("/tokenize", body, signal);
  return counted(target, listAt(answer, "tokens").length);
}

const asker =
  (target: Upstream, field: "messages" | "input") =>
  async (path: string, body: Body, signal: AbortSignal): Promise<unknown> =>
    await askJson(target, { path, body, isBesideVersion: true, field }, { signal });

type Body = NonNullable<Question["body"]>;

function counted(target: Upstream, count: number | undefined): number {
  if (count !== undefined) return count;
  throw garbage(target, "a count of tokens that is none");
}

/** Requests for one count each that are under way at the same time. */
const atOnce = 8;

const oneByOne =
  (count: (text: string, signal: AbortSignal) => Promise<number>): TextCounter =>
  async (texts, signal) => {
    const counts = new Array<number>(texts.length).fill(0);
    const waiting = texts.entries();
    const work = async (): Promise<void> => {
      for (const [at, text] of waiting) counts[at] = await count(text, signal);
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, texts.length) }, work));
    return counts;
  };

// How many tokens a text may have, where nobody counts them: rather too many than too few.

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
