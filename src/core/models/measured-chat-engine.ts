/** A chat engine whose answers are timed and whose tokens are counted as they come. */

import { given } from "../given.ts";
import type {
  CallOptions,
  ChatEngine,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
  TokenUsage,
} from "../ports/chat-engine.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";
import type { ModelActivity } from "./model-activity.ts";
import { TokenTally } from "./token-tally.ts";

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
