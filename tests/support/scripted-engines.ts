/** Engines that say what a test wrote down, record what they were asked, and refuse anything else. */
import { NodeError } from "../../src/core/errors.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  CompletionRequest,
  Finish,
  GenerationEvent,
  GenerationRequest,
} from "../../src/core/ports/chat-engine.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../../src/core/ports/embedding-engine.ts";

import type { Ranking, RankOptions, Reranker } from "../../src/core/ports/reranker.ts";
import type { Tokenizer, TokenizerInput } from "../../src/core/ports/tokenizer.ts";

export type ScriptStep = GenerationEvent | Error | ((signal: AbortSignal) => Promise<void>);

export const finish: Finish = {
  type: "finish",
  reason: "stop",
  usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 2, reasoningTokens: 0 },
};

export class ScriptedChatEngine implements ChatEngine {
  contextSize = 128;
  readonly requests: GenerationRequest[] = [];
  /** Those of prompts without a template. */
  readonly completions: CompletionRequest[] = [];
  /** Whose evaluated prompts each of them may share. */
  readonly prefixScopes: (string | undefined)[] = [];
  /** What a generation waits for in line. */
  line: Promise<void> = Promise.resolve();
  /** How many generations ran to their end or were returned from. */
  ended = 0;
  /** What its tokenizer was asked. */
  readonly tokenized: (TokenizerInput | readonly number[])[] = [];
  readonly #scripts: (readonly ScriptStep[])[] = [];

  /** A token a character, by its code; more than 4 times the context are too many. */
  get tokenizer(): Tokenizer {
    return {
      tokenize: async (input) => {
        this.tokenized.push(input);
        const text = "text" in input ? input.text : input.messages.map((one) => one.content).join();
        const characters = [...text];
        if (characters.length > 4 * this.contextSize) return undefined;
        return {
          tokens: Uint32Array.from(characters, (character) => character.codePointAt(0) ?? 0),
          ...(input.pieces === undefined ? {} : { pieces: characters }),
        };
      },
      detokenize: async (tokens) => {
        this.tokenized.push(tokens);
        return String.fromCodePoint(...tokens);
      },
    };
  }

  /** The events of the next generation; a function among them is waited for. */
  script(...steps: readonly ScriptStep[]): this {
    this.#scripts.push(steps);
    return this;
  }

  async countTokens(messages: readonly ChatMessage[]): Promise<number> {
    return wordsOf(messages);
  }

  async *generate(
    request: GenerationRequest | CompletionRequest,
    { signal, onStart, prefixScope }: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    if ("prompt" in request) this.completions.push(request);
    else this.requests.push(request);
    this.prefixScopes.push(prefixScope);
    const steps = this.#scripts.shift();
    if (steps === undefined) throw new Error("The chat engine was asked without a script");
    await this.line;
    onStart?.("prompt" in request ? request.prompt.length : wordsOf(request.messages));
    try {
      for (const step of steps) {
        signal.throwIfAborted();
        if (step instanceof Error) throw step;
        if (typeof step === "function") await step(signal);
        else yield step;
      }
    } finally {
      this.ended++;
    }
  }
}

/** A token a word. */
function wordsOf(messages: readonly ChatMessage[]): number {
  const words = messages.flatMap(({ content }) => content.split(/\s+/));
  return words.filter((word) => word !== "").length;
}

/** Vectors of two numbers, how many letters a text has, and one; a token a word. */
export class ScriptedEmbeddingEngine implements EmbeddingEngine {
  dimension = 2;
  maxTokens = 8;
  readonly vocabularySize = 100;
  readonly requests: EmbeddingInput[] = [];
  readonly callers: (string | undefined)[] = [];
  /** What every call waits for, as for a load. */
  line: () => Promise<void> = async () => {};

  async countTokens(inputs: readonly EmbeddingInput[]): Promise<number[]> {
    await this.line();
    return inputs.map((input) => this.#tokensOf(input));
  }

  async embed(
    inputs: readonly EmbeddingInput[],
    { onStart, caller }: Partial<EmbedOptions> = {},
  ): Promise<Embedding[]> {
    this.callers.push(caller);
    const counts = await this.countTokens(inputs);
    if (counts.some((tokens) => tokens === 0 || tokens > this.maxTokens)) {
      throw new NodeError("invalid_request", "A text has no tokens, or too many.");
    }
    onStart?.(counts.reduce((sum, tokens) => sum + tokens, 0));
    this.requests.push(...inputs);
    return inputs.map((input) => {
      const length = Math.hypot(input.length, 1);
      const vector = Float32Array.of(input.length / length, 1 / length);
      return { vector, tokens: this.#tokensOf(input) };
    });
  }

  #tokensOf(input: EmbeddingInput): number {
    return typeof input === "string" ? input.split(" ").length : input.length;
  }
}

/** The share of a passage's letters that are in the question too; a token a word, the question's counted with each passage. */
export class ScriptedReranker implements Reranker {
  readonly maxTokens = 16;
  readonly requests: { question: string; passages: readonly string[]; options: RankOptions }[] = [];
  /** What a ranking waits for. */
  line: Promise<void> = Promise.resolve();

  async rank(
    question: string,
    passages: readonly string[],
    options: RankOptions,
  ): Promise<Ranking> {
    this.requests.push({ question, passages, options });
    await this.line;
    options.signal.throwIfAborted();
    const words = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;
    const tokens = passages.reduce((sum, passage) => sum + words(question) + words(passage), 0);
    options.onStart?.(tokens);
    return {
      scores: passages.map((passage) => {
        const shared = [...passage].filter((letter) => question.includes(letter)).length;
        return passage === "" ? 0 : shared / passage.length;
      }),
      tokens,
    };
  }
}
