/** Answers completion requests: prompts are continued as they are, without template or grounding. */
import { NodeError } from "../errors.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type {
  CallOptions,
  CompletionRequest,
  GenerationEvent,
  RawPrompt,
  Sampling,
} from "../ports/chat-engine.ts";
import { type ChatAnswer, completeSampling, withSeedOf } from "./chat-service.ts";
import { merge } from "./merge.ts";

export interface CompletionsRequest extends Omit<CompletionRequest, "prompt" | "sampling"> {
  model: string;
  prompts: readonly RawPrompt[];
  /** Only the values that the caller sent; the model's settings fill in the rest. */
  sampling: Partial<Sampling>;
  choices: number;
}

/** Answers of one request that are generated at the same time; the others wait. */
export const completionsAtOnce = 8;

/** Starts the answers, in the order of the prompts; throws for a model that is missing or not ready. */
export function complete(
  models: ModelRegistry,
  request: CompletionsRequest,
  options: Omit<CallOptions, "onStart" | "promptPlace">,
): ChatAnswer {
  const { model, prompts, sampling, choices, ...generation } = request;
  const { card, engine, fingerprint } = models.chat(model);
  const settings = { ...generation, sampling: completeSampling(card.settings, sampling) };
  // An answer that fails ends the others too, including those that still wait for their turn.
  const abandoned = new AbortController();
  const signal = AbortSignal.any([options.signal, abandoned.signal]);
  const isShared = choices > 1 && settings.echo === true && settings.topLogprobs !== undefined;
  const starts = prompts.flatMap((prompt, at) => {
    const call = { ...options, signal, promptPlace: at };
    const generate = (index: number, rest: Pick<CompletionRequest, "echo"> = {}) =>
      engine.generate(withSeedOf({ ...settings, prompt, ...rest }, index), call);
    const echo = isShared ? new SharedEcho() : undefined;
    return Array.from({ length: choices }, (_, index) => () => {
      if (echo === undefined) return generate(index);
      if (index === 0) return echo.lead(generate(index));
      return echo.follow(() => generate(index, { echo: false }), signal);
    });
  });
  return {
    model: card.name,
    fingerprint,
    choices: starts.length,
    events: merge(atMost(completionsAtOnce, starts, signal), {
      abandon: () => abandoned.abort(),
      toError: (error, index) =>
        prompts.length === 1 ? error : withPlace(error, Math.floor(index / choices)),
    }),
  };
}

function withPlace(error: unknown, at: number): unknown {
  if (!(error instanceof NodeError) || error.subject?.part !== "prompt") return error;
  const { kind, message, subject } = error;
  return new NodeError(kind, message, { subject: { ...subject, at }, cause: error });
}

/** Runs at most `most` iterations at the same time; the next begins when one has ended. */
export function atMost<Value>(
  most: number,
  starts: readonly (() => AsyncIterable<Value>)[],
  signal: AbortSignal,
): AsyncIterable<Value>[] {
  let free = most;
  const waiting: (() => void)[] = [];
  const place = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return starts.map(async function* (start) {
    await place();
    try {
      signal.throwIfAborted();
      yield* start();
    } finally {
      leave();
    }
  });
}

type Events = AsyncIterable<GenerationEvent>;

/** A scored prompt that several answers begin with: scored for the first, reused by the others. */
class SharedEcho {
  readonly #echoed: GenerationEvent[] = [];
  readonly #complete = Promise.withResolvers<void>();

  constructor() {
    // If it fails before another answer has begun, nothing awaits it.
    this.#complete.promise.catch(() => {});
  }

  async *lead(events: Events): AsyncGenerator<GenerationEvent> {
    try {
      for await (const event of events) {
        if (event.type === "text" && event.echoed === true) this.#echoed.push(event);
        else this.#complete.resolve();
        yield event;
      }
    } catch (error) {
      this.#complete.reject(error);
      throw error;
    } finally {
      this.#complete.resolve();
    }
  }

  /** Begins once the prompt is scored, and so is in the prefix cache; fails if the first answer did. */
  async *follow(start: () => Events, signal: AbortSignal): AsyncGenerator<GenerationEvent> {
    await this.#complete.promise;
    signal.throwIfAborted();
    yield* this.#echoed;
    yield* start();
  }
}
