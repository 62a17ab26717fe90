/** Starts an answer on the scheduler, and yields its events as they come. */
import type { Token } from "node-llama-cpp";
import { onAbort } from "../../core/abort.ts";
import type { GenerationEvent } from "../../core/ports/chat-engine.ts";
import type { Generation } from "../generation/generation.ts";
import type { AnswerSampler } from "../sampling/answer-sampler.ts";
import type { Answer, PromptScores } from "./answer.ts";
import { EventQueue } from "./event-queue.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Slot } from "./slots.ts";

/** An answer that has a slot. */
export interface StartedAnswer {
  slot: Slot;
  prompt: readonly Token[];
  fresh: boolean;
  scope: string | undefined;
  generation: Generation;
  sampler: AnswerSampler;
  /** Where the log probabilities of the prompt are wanted. */
  scorer?: PromptScores["scorer"] | undefined;
}

/** An aborted signal ends the events at once, and the answer before the next step. */
export async function* readAnswer(
  scheduler: Scheduler,
  { prompt, fresh, scope, ...started }: StartedAnswer,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent> {
  signal.throwIfAborted();
  const events = new EventQueue<GenerationEvent>(() => scheduler.wake());
  const { slot } = started;
  const stop = scheduler.start({
    sequence: slot.sequence,
    source: slot.source,
    evictionTarget: slot.evictionTarget,
    prompt,
    fresh,
    scope,
    answer: writing(started, events),
  });
  const leave = (): void => {
    stop();
    events.fail(signal.reason);
  };
  using _ = onAbort(signal, leave);
  try {
    yield* events.read();
  } finally {
    slot.prefillDone();
    stop();
  }
}

/** The generation as an answer of the scheduler, which resumes it with each token. */
function writing(
  {
    slot,
    generation,
    sampler,
    scorer,
  }: Pick<StartedAnswer, "slot" | "generation" | "sampler" | "scorer">,
  events: EventQueue<GenerationEvent>,
): Answer {
  const emit = (event: GenerationEvent): void => events.push(event);
  const steps = generation.write(sampler, emit);
  const goOn = (step: ReturnType<typeof steps.next>) => {
    if (step.done !== true) return step.value;
    events.complete();
    return undefined;
  };
  return {
    sampler: sampler.native,
    topLogits: generation.topLogprobs,
    promptScores: scorer && generation.echo.scores(scorer, emit),
    get paused() {
      return events.full;
    },
    begin(cachedTokens) {
      generation.cachedTokens = cachedTokens;
      return goOn(steps.next());
    },
    accept(sampled) {
      slot.prefillDone();
      generation.echo.emit(emit);
      return goOn(steps.next(sampled));
    },
    fail: (reason) => events.fail(reason),
  };
}
