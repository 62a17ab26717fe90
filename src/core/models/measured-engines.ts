/** Engines whose calls are counted and timed, and whose tokens are counted as they come. */
import { given } from "../given.ts";
import type {
  CallOptions,
  ChatEngine,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
  TokenUsage,
} from "../ports/chat-engine.ts";
import type {
  Embedding,
  EmbeddingEngine,
  EmbeddingInput,
  EmbedOptions,
} from "../ports/embedding-engine.ts";
import type { Ranking, RankOptions, Reranker } from "../ports/reranker.ts";
import type { Report } from "../ports/telemetry.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";
import type { ModelType } from "./model.ts";
import type { ModelActivity } from "./model-activity.ts";

export class MeasuredChatEngine implements ChatEngine {
  readonly #model: string;
  readonly #engine: ChatEngine;
  readonly #activity: ModelActivity;
  readonly #tally = new TokenTally();

  constructor(model: string, engine: ChatEngine, activity: ModelActivity) {
    this.#model = model;
    this.#engine = engine;
    this.#activity = activity;
  }

  get contextSize(): number {
    return this.#engine.contextSize;
  }

  get tokenizer(): Tokenizer | undefined {
    return this.#engine.tokenizer;
  }

  countTokens(...asked: Parameters<ChatEngine["countTokens"]>): Promise<number> {
    return this.#engine.countTokens(...asked);
  }

  async *generate(
    request: GenerationRequest | CompletionRequest,
    { report = () => {}, onStart, promptPlace: prompt, ...options }: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    const model = this.#model;
    const call = this.#activity.call();
    const calledAt = performance.now();
    let startedAt: number | undefined;
    let promptTokens: number | undefined;
    let firstTokenAt: number | undefined;
    let endedAt: number | undefined;
    let usage: TokenUsage | undefined;
    let counted = 0;
    const count = (tokens: number): void => {
      counted += tokens;
      const due = this.#tally.add(tokens);
      if (due > 0) report({ type: "tokens", model, count: due });
    };
    const start = (tokens?: number): void => {
      promptTokens ??= tokens;
      if (startedAt !== undefined) return;
      startedAt = performance.now();
      call.start();
      report({ type: "started", model, modelType: "chat", waitedMs: startedAt - calledAt });
      onStart?.(tokens ?? 0);
    };
    try {
      for await (const event of this.#engine.generate(request, { ...options, onStart: start })) {
        const isEcho = event.type === "text" && event.echoed === true;
        if (firstTokenAt === undefined && !isEcho) {
          // An engine that sends events has started, whether it called onStart or not.
          start();
          firstTokenAt = performance.now();
          report({ type: "first-token", model });
        }
        if (event.type === "finish") {
          endedAt = performance.now();
          usage = event.usage;
          promptTokens = usage.promptTokens;
          count(usage.completionTokens - counted);
        } else if (!isEcho) {
          count(1);
        }
        yield event;
      }
    } finally {
      call.end();
      report({
        type: "answered",
        model,
        calledAt,
        ...given({ prompt, startedAt, promptTokens, firstTokenAt }),
        endedAt: endedAt ?? performance.now(),
        generatedTokens: counted,
        ...given({ usage }),
      });
    }
  }
}

/** An embedding engine whose calls are counted and timed. */
export class MeasuredEmbeddingEngine implements EmbeddingEngine {
  readonly #model: string;
  readonly #engine: EmbeddingEngine;
  readonly #activity: ModelActivity;

  constructor(model: string, engine: EmbeddingEngine, activity: ModelActivity) {
    this.#model = model;
    this.#engine = engine;
    this.#activity = activity;
  }

  get dimension(): number {
    return this.#engine.dimension;
  }

  get maxTokens(): number {
    return this.#engine.maxTokens;
  }

  get vocabularySize(): number {
    return this.#engine.vocabularySize;
  }

  get tokenizer(): Tokenizer | undefined {
    return this.#engine.tokenizer;
  }

  get estimatesTokens(): boolean {
    return this.#engine.estimatesTokens ?? false;
  }

  countTokens(...asked: Parameters<EmbeddingEngine["countTokens"]>): Promise<number[]> {
    return this.#engine.countTokens(...asked);
  }

  async embed(
    inputs: readonly EmbeddingInput[],
    { report = () => {}, onStart, ...options }: EmbedOptions,
  ): Promise<Embedding[]> {
    const model = this.#model;
    const called = { model, modelType: "embedding", activity: this.#activity } as const;
    const { result, from, to } = await measuredCall(called, { report, onStart }, (start) =>
      this.#engine.embed(inputs, { ...options, onStart: start }),
    );
    const tokens = result.reduce((sum, embedding) => sum + embedding.tokens, 0);
    report({ type: "embedded", model, inputs: inputs.length, tokens, from, to });
    return result;
  }
}

/** A reranking model whose calls are counted and timed. */
export class MeasuredReranker implements Reranker {
  readonly #model: string;
  readonly #reranker: Reranker;
  readonly #activity: ModelActivity;

  constructor(model: string, reranker: Reranker, activity: ModelActivity) {
    this.#model = model;
    this.#reranker = reranker;
    this.#activity = activity;
  }

  get maxTokens(): number {
    return this.#reranker.maxTokens;
  }

  async rank(
    question: string,
    passages: readonly string[],
    { report = () => {}, onStart, ...options }: RankOptions,
  ): Promise<Ranking> {
    const called = { model: this.#model, modelType: "reranker", activity: this.#activity } as const;
    const { result, from, to } = await measuredCall(called, { report, onStart }, (start) =>
      this.#reranker.rank(question, passages, { ...options, onStart: start }),
    );
    const { tokens } = result;
    report({ type: "reranked", model: this.#model, passages: passages.length, tokens, from, to });
    return result;
  }
}

interface CalledModel {
  model: string;
  modelType: ModelType;
  activity: ModelActivity;
}

interface CallListener {
  report: Report;
  /** Called once, when the call leaves the line. */
  onStart: (() => void) | undefined;
}

/** `work` says when it starts; the times are those from when it was asked for to its end. */
async function measuredCall<Result>(
  { model, modelType, activity }: CalledModel,
  { report, onStart }: CallListener,
  work: (start: () => void) => Promise<Result>,
): Promise<{ result: Result; from: number; to: number }> {
  const call = activity.call();
  const from = performance.now();
  let waits = true;
  const start = (): void => {
    if (!waits) return;
    waits = false;
    call.start();
    report({ type: "started", model, modelType, waitedMs: performance.now() - from });
    onStart?.();
  };
  try {
    return { result: await work(start), from, to: performance.now() };
  } finally {
    call.end();
  }
}

/**
 * Counts tokens that are only estimated while they come. Until an answer's end each event counts as
 * one token; where that was too many, later tokens pay for it, so that the sum never falls.
 */
export class TokenTally {
  #debt = 0;

  /** Adds tokens, fewer than none to correct; answers how many the sum grows by. */
  add(tokens: number): number {
    const due = tokens - this.#debt;
    this.#debt = Math.max(0, -due);
    return Math.max(0, due);
  }
}
