/** Counts tokens with each kind of server's own endpoints, or estimates them. */
import { countAt, isObject, listAt, textAt } from "../../client/json-fields.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";
import type { TokenizedText, Tokenizer, TokenizerInput } from "../../core/ports/tokenizer.ts";
import { askJson, garbage, inBatches, type Upstream } from "./ask.ts";
import { toWireTools, withMessages } from "./chat-request.ts";
import type { ServerKind } from "./server-facts.ts";

export type ChatCounter = (
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
  signal: AbortSignal,
) => Promise<number>;

/** Tokens per text, including special tokens. */
export type TextCounter = (texts: readonly string[], signal: AbortSignal) => Promise<number[]>;

type Ask = (path: string, body: string | (string | Uint8Array)[]) => Promise<unknown>;
type TextInput = Extract<TokenizerInput, { text: string }>;
type ChatInput = Extract<TokenizerInput, { messages: unknown }>;

/** The tokenizer endpoints of one kind of server. */
interface Dialect {
  text(ask: Ask, model: string, input: TextInput): Promise<unknown>;
  chat(ask: Ask, model: string, input: ChatInput): Promise<unknown>;
  /** The tokens in an answer; undefined if there are none. */
  tokens(answer: unknown): readonly unknown[] | undefined;
  detokenize(ask: Ask, model: string, tokens: readonly number[]): Promise<unknown>;
}

/** Undefined if this kind of server does not tokenize. */
export function upstreamTokenizer(
  upstream: Upstream,
  kind: ServerKind,
  contextSize: number,
): Tokenizer | undefined {
  const dialect = dialects[kind];
  if (dialect === undefined) return undefined;
  const { upstreamModel: model } = upstream;
  const asker = (signal: AbortSignal): Ask => askerOf(upstream, kind, "prompt", signal);
  return {
    async tokenize(input, { signal }) {
      if ("text" in input && input.text.length > contextSize * mostBytesPerToken) return undefined;
      const ask = asker(signal);
      const answer =
        "text" in input
          ? await dialect.text(ask, model, input)
          : await dialect.chat(ask, model, input);
      const sent = dialect.tokens(answer) ?? [];
      const tokens = sent.filter(isToken);
      if (tokens.length < sent.length) throw garbage(upstream, "tokens that are none");
      const strings = listAt(answer, "token_strs").filter((one) => typeof one === "string");
      const pieces: TokenizedText["pieces"] = input.pieces === undefined ? undefined : strings;
      return { tokens: Uint32Array.from(tokens), ...given({ pieces }) };
    },
    async detokenize(tokens, { signal }) {
      const text = await dialect.detokenize(asker(signal), model, tokens);
      if (typeof text === "string") return text;
      throw garbage(upstream, "a text that is none");
    },
  };
}

/** Undefined if this kind of server cannot count conversations. Paddock nodes are not asked to. */
export function chatCounter(upstream: Upstream, kind: ServerKind): ChatCounter | undefined {
  const dialect = dialects[kind];
  if (dialect === undefined || kind === "paddock" || kind === "tei") return undefined;
  return async (messages, tools, signal) => {
    const ask = askerOf(upstream, kind, "messages", signal);
    const input = { messages, ...given({ tools: tools.length === 0 ? undefined : tools }) };
    return countOf(upstream, dialect, await dialect.chat(ask, upstream.upstreamModel, input));
  };
}

/** Concurrent requests, of one text each. */
const atOnce = 8;

/** Undefined if this kind of server cannot count texts. */
export function textCounter(upstream: Upstream, kind: ServerKind): TextCounter | undefined {
  const dialect = dialects[kind];
  if (dialect === undefined || kind === "paddock") return undefined;
  return async (texts, signal) =>
    await inBatches(texts, { most: 1, atOnce }, async ([text = ""]) => {
      const ask = askerOf(upstream, kind, "input", signal);
      const input = { text, addSpecial: true, parseSpecial: true };
      return [countOf(upstream, dialect, await dialect.text(ask, upstream.upstreamModel, input))];
    });
}

function countOf(upstream: Upstream, dialect: Dialect, answer: unknown): number {
  const count = countAt(answer, "count") ?? dialect.tokens(answer)?.length;
  if (count !== undefined) return count;
  throw garbage(upstream, "a count of tokens that is none");
}

const askerOf =
  (
    upstream: Upstream,
    kind: ServerKind,
    field: "prompt" | "messages" | "input",
    signal: AbortSignal,
  ): Ask =>
  async (path, body) =>
    await askJson(upstream, { path, body, isBesideVersion: kind !== "paddock", field }, { signal });

/** An unsigned 32-bit integer. */
const isToken = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;

/** vLLM's endpoints, which Paddock nodes have too. */
const vllm = (hasRest: boolean): Dialect => ({
  async text(ask, model, { text, addSpecial, parseSpecial, pieces }) {
    if (!hasRest && !parseSpecial) throw unknown("parse_special");
    if (pieces === "text") throw unknown("with_pieces");
    const fields = { model, prompt: text, add_special_tokens: addSpecial };
    const rest = { ...(hasRest ? { parse_special: parseSpecial } : {}), ...strings(pieces) };
    return await ask("/tokenize", JSON.stringify({ ...fields, ...rest }));
  },
  async chat(ask, model, { messages, tools, pieces }) {
    if (pieces === "text") throw unknown("with_pieces");
    const fields = { model, ...given({ tools: tools && toWireTools(tools) }), ...strings(pieces) };
    return await ask("/tokenize", withMessages(fields, messages));
  },
  tokens: tokensIn,
  detokenize: async (ask, model, tokens) =>
    textAt(await ask("/detokenize", JSON.stringify({ model, tokens })), "prompt"),
});

const llamaServer: Dialect = {
  async text(ask, _, { text: content, addSpecial, parseSpecial, pieces }) {
    if (pieces !== undefined) throw unknown(fieldOf(pieces));
    const body = { content, add_special: addSpecial, parse_special: parseSpecial };
    return await ask("/tokenize", JSON.stringify(body));
  },
  async chat(ask, model, { messages, tools, ...input }) {
    const fields = given({ tools: tools && toWireTools(tools) });
    const rendered = await ask("/apply-template", withMessages(fields, messages));
    const text = textAt(rendered, "prompt") ?? "";
    const special = { addSpecial: true, parseSpecial: true };
    return await llamaServer.text(ask, model, { ...input, text, ...special });
  },
  tokens: tokensIn,
  detokenize: async (ask, _, tokens) =>
    textAt(await ask("/detokenize", JSON.stringify({ tokens })), "content"),
};

const textEmbeddings: Dialect = {
  async text(ask, _, { text: inputs, addSpecial, parseSpecial, pieces }) {
    if (pieces !== undefined) throw unknown(fieldOf(pieces));
    if (!parseSpecial) throw unknown("parse_special");
    return await ask("/tokenize", JSON.stringify({ inputs, add_special_tokens: addSpecial }));
  },
  chat: () => Promise.reject(unknown("messages")),
  tokens: (answer) => {
    const [first] = Array.isArray(answer) ? answer : [];
    if (!Array.isArray(first)) return undefined;
    return first.map((token) => (isObject(token) ? token.id : token));
  },
  async detokenize(ask, _, ids) {
    const answer = await ask("/decode", JSON.stringify({ ids, skip_special_tokens: false }));
    return Array.isArray(answer) ? answer[0] : undefined;
  },
};

function tokensIn(answer: unknown): readonly unknown[] | undefined {
  const tokens = isObject(answer) ? answer.tokens : undefined;
  return Array.isArray(tokens) ? tokens : undefined;
}

const dialects: Partial<Record<ServerKind, Dialect>> = {
  vllm: vllm(false),
  paddock: vllm(true),
  "llama-server": llamaServer,
  tei: textEmbeddings,
};

const strings = (pieces: TokenizerInput["pieces"]): object =>
  pieces === undefined ? {} : { return_token_strs: true };

const fieldOf = (pieces: NonNullable<TokenizerInput["pieces"]>): string =>
  pieces === "text" ? "with_pieces" : "return_token_strs";

const unknown = (param: string): NodeError =>
  new NodeError(
    "invalid_request",
    `'${param}' cannot be honoured: the server that this model runs on has nothing like it. Leave it out.`,
    { param },
  );

// Estimates token counts for servers that do not count.

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
