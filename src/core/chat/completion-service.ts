/** Completions: prompts that are continued as they are, with no template and no grounding. */
import { NodeError, withField } from "../errors.ts";
import type { ModelRegistry } from "../models/model-registry.ts";
import type { CallOptions, CompletionRequest, RawPrompt, Sampling } from "../ports/chat-engine.ts";
import { atMost } from "./at-most.ts";
import type { ChatAnswer } from "./chat-service.ts";
import { completeSampling, withSeedOf } from "./complete-settings.ts";
import { merge } from "./merge.ts";
import { SharedEcho } from "./shared-echo.ts";

export interface CompletionsRequest extends Omit<CompletionRequest, "prompt" | "sampling"> {
  model: string;
  prompts: readonly RawPrompt[];
  /** Only what the caller said; the model's settings fill the rest. */
  sampling: Partial<Sampling>;
  /** How many answers each prompt gets. */
  choices: number;
}

/** Answers of one request that are generated at the same time; the others wait for these. */
export const completionsAtOnce = 8;

export class CompletionService {
  readonly #models: ModelRegistry;

  constructor(models: ModelRegistry) {
    this.#models = models;
  }

  /**
   * Starts the answers, those of the first prompt first; a model that is missing or not ready is
   * refused here, before any event.
   */
  complete(
    request: CompletionsRequest,
    options: Omit<CallOptions, "onStart" | "promptPlace">,
  ): ChatAnswer {
    const { model, prompts, sampling, choices, ...generation } = request;
    const { card, engine, fingerprint, ignores = [] } = this.#models.chat(model);
    const settings = { ...generation, sampling: completeSampling(card.settings, sampling) };
    // An answer that fails ends the others too, also those that still wait for their turn.
    const abandoned = new AbortController();
    const signal = AbortSignal.any([options.signal, abandoned.signal]);
    const isShared = choices > 1 && settings.echo === true && settings.topLogprobs !== undefined;
    const starts = prompts.flatMap((prompt, at) => {
      const call = { ...options, signal, promptPlace: at };
      const generate = (index: number, rest: Pick<CompletionRequest, "echo"> = {}) =>
        engine.generate(withSeedOf({ ...settings, prompt, ...rest }, index), call);
      const echo = isShared ? new SharedEcho() : undefined;
      return Array.from({ length: choices }, (_, index) => () => {
        const events =
          echo === undefined
            ? generate(index)
            : index === 0
              ? echo.lead(generate(index))
              : echo.follow(() => generate(index, { echo: false }), signal);
        return named(events, prompts.length, at);
      });
    });
    return {
      model: card.name,
      fingerprint,
      choices: starts.length,
      ignored: ignores.filter((name) => sampling[name] !== undefined),
      events: merge(atMost(completionsAtOnce, starts, signal), () => abandoned.abort()),
    };
  }
}

/** Of several prompts, an error names the one that it is about. */
async function* named<Value>(
  events: AsyncIterable<Value>,
  prompts: number,
  at: number,
): AsyncGenerator<Value> {
  try {
    yield* events;
  } catch (error) {
    if (prompts === 1 || !(error instanceof NodeError) || error.param !== "prompt") throw error;
    const { message } = error;
    const param = `prompt[${at}]`;
    const told = message.startsWith("'prompt' ")
      ? message.replace("'prompt'", `'${param}'`)
      : `'${param}': ${message}`;
    throw withField(error, { message: told, param });
  }
}
