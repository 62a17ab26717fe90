/** Counts tokens with each kind of server's own endpoints, or estimates them. */
import { countAt, isObject, listAt, textAt } from "../../client/json-fields.ts";
import { hasImages, imagesOf } from "../../core/chat/images.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";
import type { Tokenizer, TokenizerInput } from "../../core/ports/tokenizer.ts";
import type { Replicas } from "../replicas/replica.ts";
import { askJson, garbage, inBatches, type Upstream } from "./ask.ts";
import { toWireTools, withMessages } from "./chat-request.ts";
import type { Refused } from "./refusal.ts";
import type { ServerKind } from "./server-facts.ts";

export type ChatCounter = (
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
  signal: AbortSignal,
) => Promise<number>;

/** Tokens per text, including special tokens. */
export type TextCounter = (texts: readonly string[], signal: AbortSignal) => Promise<number[]>;

/** What is in an answer; undefined if it is not what was asked for. */
type Read<Result> = (answer: unknown) => Result | undefined;
type Ask = <Result>(
  path: string,
  fields: object,
  read: Read<Result>,
  messages?: readonly ChatMessage[],
) => Promise<Result>;

interface Dialect {
  tokenize<Result>(
    ask: Ask,
    model: string,
    input: TokenizerInput,
    read: Read<Result>,
  ): Promise<Result>;
  /** The tokens in an answer; undefined if there are none. */
  tokens: Read<readonly unknown[]>;
  detokenize(ask: Ask, model: string, tokens: readonly number[]): Promise<string>;
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
  return {
    async tokenize(input, { signal }) {
      if ("text" in input && input.text.length > contextSize * mostBytesPerToken) return undefined;
      const ask = askerOf(upstream, kind, "prompt", signal);
      return await dialect.tokenize(ask, model, input, (answer) => {
        const tokens = dialect.tokens(answer);
        if (!tokens?.every(isToken)) return undefined;
        const strings = listAt(answer, "token_strs").filter((one) => typeof one === "string");
        const pieces = input.pieces === undefined ? undefined : strings;
        return { tokens: Uint32Array.from(tokens), ...given({ pieces }) };
      });
    },
    detokenize: (tokens, { signal }) =>
      dialect.detokenize(askerOf(upstream, kind, "prompt", signal), model, tokens),
  };
}

/** Such a text has tokens, whatever a server says: passages without any are left out. */
const hasWords = (input: TokenizerInput): boolean =>
  "messages" in input || /[\p{L}\p{N}]/u.test(input.text);

/** Undefined if this kind of server cannot count. Paddock nodes are not asked to. */
function counterOf(upstream: Upstream, kind: ServerKind, field: Refused["field"]) {
  const dialect = dialects[kind];
  if (dialect === undefined || kind === "paddock") return undefined;
  return async (input: TokenizerInput, signal: AbortSignal): Promise<number> => {
    const ask = askerOf(upstream, kind, field, signal);
    const countOf = (answer: unknown): number | undefined => {
      const count = countAt(answer, "count") ?? dialect.tokens(answer)?.length;
      return count === 0 && hasWords(input) ? undefined : count;
    };
    return await dialect.tokenize(ask, upstream.upstreamModel, input, countOf);
  };
}

export function chatCounter(upstream: Upstream, kind: ServerKind): ChatCounter | undefined {
  const count = kind === "tei" ? undefined : counterOf(upstream, kind, "messages");
  return (
    count &&
    ((messages, tools, signal) =>
      count({ messages, ...(tools.length === 0 ? {} : { tools }) }, signal))
  );
}

/** Concurrent requests, of one text each. */
const atOnce = 8;

export function textCounter(upstream: Upstream, kind: ServerKind): TextCounter | undefined {
  const count = counterOf(upstream, kind, "input");
  const special = { addSpecial: true, parseSpecial: true };
  return (
    count &&
    ((texts, signal) =>
      inBatches(texts, { most: 1, atOnce }, async ([text = ""]) => [
        await count({ text, ...special }, signal),
      ]))
  );
}

/** TEI describes a token in five; it serves models with a context of 32,768. */
const mostKeys = 250_000;

function askerOf(
  upstream: Upstream,
  kind: ServerKind,
  field: Refused["field"],
  signal: AbortSignal,
): Ask {
  const isBesideVersion = kind !== "paddock";
  const replicas = besideAnswers(upstream.replicas);
  return (path, fields, read, messages) => {
    const body = messages === undefined ? [JSON.stringify(fields)] : withMessages(fields, messages);
    const question = { path, body, isBesideVersion, field, mostKeys };
    return askJson({ ...upstream, replicas }, question, signal, (answer) => {
      const found = read(answer);
      if (found === undefined) throw garbage(upstream, `with something else than ${path} has`);
      return found;
    });
  };
}

/** A replica that does not tokenize may answer all else, and one that does may be silent about it. */
const besideAnswers = (replicas: Replicas): Replicas => ({
  urls: () => replicas.urls(),
  problem: () => replicas.problem(),
  attempt: async (choice, attempt) =>
    await replicas.attempt(choice, (lease) =>
      attempt({
        ...lease,
        succeeded: () => {},
        overloaded: () => {},
        failed: (why) => lease.failed(why, { mayAnswer: true }),
      }),
    ),
});

const isToken = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 32;

/** vLLM's endpoints, which Paddock nodes have too. */
const vllm = (hasParseSpecial: boolean): Dialect => ({
  async tokenize(ask, model, input, read) {
    if (input.pieces === "text") throw unknown("with_pieces");
    const common = { model, return_token_strs: input.pieces && true };
    if ("messages" in input) {
      const tools = input.tools && toWireTools(input.tools);
      return await ask("/tokenize", { ...common, tools }, read, input.messages);
    }
    const { text, addSpecial, parseSpecial } = input;
    if (!hasParseSpecial && !parseSpecial) throw unknown("parse_special");
    const fields = {
      ...common,
      prompt: text,
      add_special_tokens: addSpecial,
      parse_special: hasParseSpecial ? parseSpecial : undefined,
    };
    return await ask("/tokenize", fields, read);
  },
  tokens: tokensIn,
  detokenize: (ask, model, tokens) =>
    ask("/detokenize", { model, tokens }, (answer) => textAt(answer, "prompt")),
});

const llamaServer: Dialect = {
  async tokenize(ask, model, input, read) {
    refusePieces(input);
    if ("messages" in input) {
      const tools = input.tools && toWireTools(input.tools);
      const prompt = (answer: unknown) => textAt(answer, "prompt");
      const text = await ask("/apply-template", { tools }, prompt, input.messages);
      return await this.tokenize(ask, model, { text, addSpecial: true, parseSpecial: true }, read);
    }
    const { text: content, addSpecial, parseSpecial } = input;
    const fields = { content, add_special: addSpecial, parse_special: parseSpecial };
    return await ask("/tokenize", fields, read);
  },
  tokens: tokensIn,
  detokenize: (ask, _, tokens) =>
    ask("/detokenize", { tokens }, (answer) => textAt(answer, "content")),
};

const textEmbeddings: Dialect = {
  async tokenize(ask, _, input, read) {
    if ("messages" in input) throw unknown("messages");
    refusePieces(input);
    if (!input.parseSpecial) throw unknown("parse_special");
    const fields = { inputs: input.text, add_special_tokens: input.addSpecial };
    return await ask("/tokenize", fields, read);
  },
  tokens: (answer) => {
    const [first] = Array.isArray(answer) ? answer : [];
    if (!Array.isArray(first)) return undefined;
    return first.map((token) => (isObject(token) ? token.id : token));
  },
  detokenize: (ask, _, ids) =>
    ask("/decode", { ids, skip_special_tokens: false }, (answer) => {
      const text: unknown = Array.isArray(answer) ? answer[0] : undefined;
      return typeof text === "string" ? text : undefined;
    }),
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

function refusePieces({ pieces }: TokenizerInput): void {
  if (pieces === "text") throw unknown("with_pieces");
  if (pieces !== undefined) throw unknown("return_token_strs");
}

const unknown = (param: string): NodeError =>
  new NodeError(
    "invalid_request",
    `'${param}' cannot be honoured: the server that this model runs on has nothing like it. Leave it out.`,
    { param },
  );

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
    const text = Math.ceil(bytesOf(messages, tools) * this.#density);
    return text + around(messages) + imageTokens(messages);
  }

  /** Learns from the server's count: shorter tokens raise later estimates. */
  learn(messages: readonly ChatMessage[], tools: readonly Tool[], tokens: number): void {
    const bytes = bytesOf(messages, tools);
    if (bytes < leastBytes || hasImages(messages)) return;
    const counted = Math.min(mostDensity, (tokens - aroundConversation) / bytes);
    this.#density = Math.max(this.#density, counted);
  }
}

/** What an image counts as until the server has counted it: about as much as one of a megapixel. */
const tokensOfImage = 1536;

export const imageTokens = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + imagesOf(message).length, 0) * tokensOfImage;

/** Servers count a placeholder for each image, and would fetch those with an http(s) address. */
export const withoutImages = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  hasImages(messages) ? messages.map((message) => ({ ...message, images: [] })) : messages;

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
