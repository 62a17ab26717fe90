/** Starts an answer on the scheduler, and yields its events to a reader at its own pace. */
import type { Token } from "node-llama-cpp";
import { onAbort } from "../../core/abort.ts";
import type { GenerationEvent } from "../../core/ports/chat-engine.ts";
import type { Generation } from "../generation/generation.ts";
import type { AnswerSampler } from "../generation/sampling.ts";
import type { Answer, PromptScores } from "./answer.ts";
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

/** Unread events at which the answer is paused. */
const mostUnread = 8;

/** A queue from the scheduler, which never waits, to a reader at its own pace, with back pressure. */
class EventQueue<Event> {
  readonly #unread: Event[] = [];
  readonly #onRead: () => void;
  #end: { reason: unknown } | "complete" | undefined;
  #wake: () => void = () => {};

  /** `onRead` is called when a full queue has room again. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  get full(): boolean {
    return this.#unread.length >= mostUnread;
  }

  push(event: Event): void {
    this.#unread.push(event);
    this.#wake();
  }

  /** Nothing follows; what is unread is still read. */
  complete(): void {
    this.#end ??= "complete";
    this.#wake();
  }

  /** Ends the reading at once; what is unread is dropped. */
  fail(reason: unknown): void {
    if (this.#end !== "complete" || this.#unread.length > 0) this.#end = { reason };
    this.#wake();
  }

  async *read(): AsyncGenerator<Event> {
    for (;;) {
      if (typeof this.#end === "object") throw this.#end.reason;
      const wasFull = this.full;
      const event = this.#unread.shift();
      if (event !== undefined) {
        if (wasFull) this.#onRead();
        yield event;
      } else if (this.#end === "complete") {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
