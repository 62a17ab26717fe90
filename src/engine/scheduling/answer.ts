/** An answer: what the scheduler runs, its progress, and its events, which a reader consumes at its own pace. */
import type { Token } from "node-llama-cpp";
import { onAbort } from "../../core/abort.ts";
import type { GenerationEvent } from "../../core/ports/chat-engine.ts";
import type { Generation } from "../generation/generation.ts";
import type { AnswerSampler } from "../generation/sampling.ts";
import type { Sampled } from "../native/contexts.ts";
import type { NativeSampler, SampledLogits } from "../native/sampler.ts";
import type { CachedSequence } from "./kv-cache.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Slot, SlotRequest } from "./slots.ts";

/** What an answer wants to be evaluated before its next token is sampled. */
export interface Feed {
  /** First rewinds the sequence to this many tokens of prompt and answer. */
  rewindTo?: number;
  tokens: readonly Token[];
  /** Whether what a step has already sampled after them does not count: a grammar begins or ends there. */
  changesSampler?: boolean;
}

/** Takes the log probabilities of a prompt's own tokens. */
export interface PromptScores {
  readonly scorer: Pick<NativeSampler, "logitsOf">;
  /** How many of the likeliest tokens' logits are wanted in each place. */
  readonly top: number;
  /** Called for each token of the prompt but the first, in their order. */
  take(logits: SampledLogits): void;
}

type StepSampler = Partial<Pick<NativeSampler, "chain" | "tellsLogits">>;

/** An answer as the scheduler drives it. Its methods are synchronous: one that waited would hold up the batch. */
export interface Answer {
  readonly sampler: Pick<NativeSampler, "sample" | "sampleWithLogits"> & StepSampler;
  /** How many of the likeliest tokens' logits it wants to know; absent: none. */
  readonly topLogits: number | undefined;
  /** Wanted of its prompt, every token of which is evaluated then, a few in each step. */
  readonly promptScores?: PromptScores | undefined;
  /** How many tokens it may still take. */
  readonly room: number;
  /** Back pressure: the reader is too far behind, so the answer is left out of the next steps. */
  readonly paused: boolean;
  /** Called before its prompt is evaluated; returns what is to be evaluated after it. */
  begin(cachedTokens: number): Feed | undefined;
  /** Takes its next token; undefined: the answer is complete. */
  accept(sampled: Sampled): Feed | undefined;
  fail(reason: unknown): void;
}

/** Another sequence whose prefix can be copied, so that it is not evaluated again. */
export interface PrefixSource {
  sequence: CachedSequence;
  /** How many tokens of the prompt it has, or will have. */
  shared: number;
  pending(): boolean;
  /** What can be copied sooner, if that is pending. */
  meanwhile?: PrefixSource | undefined;
}

export interface ScheduledPrompt
  extends SlotRequest,
    Pick<Slot, "sequence" | "source" | "evictionTarget"> {
  answer: Answer;
}

export class RunningAnswer {
  readonly scheduled: ScheduledPrompt;
  /** What is still to be evaluated before the next token is sampled. */
  pending: Token[] = [];
  rewindTo: number | undefined;
  prepared = false;
  inPrefill = true;
  stopped = false;
  /** Who evaluates what it waits for. */
  awaited: CachedSequence | undefined;
  #waitsNoMore = false;

  constructor(scheduled: ScheduledPrompt) {
    this.scheduled = scheduled;
  }

  get sequence(): CachedSequence {
    return this.scheduled.sequence;
  }

  get answer(): Answer {
    return this.scheduled.answer;
  }

  /** Whether the tokens being evaluated need log probabilities. */
  get isScored(): boolean {
    return this.inPrefill && this.answer.promptScores !== undefined;
  }

  /** Whether it evaluates one token and then samples, as in every step of an answer. */
  get decodes(): boolean {
    return !this.inPrefill && this.pending.length === 1;
  }

  /** What can be copied now. What is not evaluated has no log probabilities. */
  get source(): PrefixSource | undefined {
    const { prompt, scope, source } = this.scheduled;
    if (this.isScored || source?.pending() !== true) return this.isScored ? undefined : source;
    const { sequence, meanwhile } = source;
    return sequence.cachedTokens(prompt, scope) > (meanwhile?.shared ?? 0) ? source : meanwhile;
  }

  /** Whether it waits for what another evaluates of its prompt. It is planned meanwhile, which tells when its turn comes first; but not with a seed, since both have the same prompt then. */
  waits(): boolean {
    const { prompt, fresh, scope, source } = this.scheduled;
    const waits = !this.#waitsNoMore && !this.isScored && source?.pending() === true;
    this.awaited = waits ? source.sequence : undefined;
    if (!waits || fresh) return waits;
    this.pending = prompt.slice(
      source.meanwhile?.shared ?? this.sequence.cachedTokens(prompt, scope),
    );
    return true;
  }

  waitNoMore(): void {
    this.#waitsNoMore = true;
  }

  take({ rewindTo, tokens }: Feed): void {
    if (rewindTo !== undefined) this.rewindTo = rewindTo;
    for (const token of tokens) this.pending.push(token);
  }
}

/** Scores a prompt's own tokens, by the outputs of those before them. `evaluated`: how many tokens the batch had of it; `last`: the index of the last one's output. */
export async function scorePrompt(
  run: RunningAnswer,
  evaluated: number,
  last: number,
): Promise<void> {
  const { promptScores: scores } = run.answer;
  const start = run.sequence.tokens.length - evaluated;
  for (let at = 0; at < evaluated && scores !== undefined && !run.stopped; at++) {
    const next = run.scheduled.prompt[start + at + 1];
    if (next === undefined) return;
    // One after the other: a sampler does one thing at a time.
    scores.take(await scores.scorer.logitsOf(next, last - evaluated + 1 + at, scores.top));
  }
}

interface StartedAnswer extends SlotRequest {
  slot: Slot;
  generation: Generation;
  sampler: AnswerSampler;
  scorer?: PromptScores["scorer"] | undefined;
}

/** Starts an answer and yields its events. An aborted signal ends them at once, and the answer before the next step. */
export async function* readAnswer(
  scheduler: Scheduler,
  { prompt, fresh, scope, isScored, ...started }: StartedAnswer,
  signal: AbortSignal,
): AsyncGenerator<GenerationEvent> {
  signal.throwIfAborted();
  const events = new EventQueue(() => scheduler.wake());
  const { slot } = started;
  const answer = writing(started, events);
  const stop = scheduler.start({ ...slot, prompt, fresh, scope, isScored, answer });
  using _ = onAbort(signal, () => {
    stop();
    events.fail(signal.reason);
  });
  try {
    yield* events.read();
  } finally {
    slot.prefillDone();
    stop();
  }
}

function writing(
  { slot, generation, sampler, scorer }: Omit<StartedAnswer, keyof SlotRequest>,
  events: EventQueue,
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
    get room() {
      return generation.room;
    },
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

/** Unread events at which the answer is paused; a step may sample dozens of tokens before they are told. */
const mostUnread = 64;

/** A queue from the scheduler, which never waits, to a reader at its own pace, with back pressure. */
class EventQueue {
  readonly #unread: GenerationEvent[] = [];
  readonly #onRead: () => void;
  /** How many were pushed since the reader had read all. */
  #pushed = 0;
  #end: { reason: unknown } | "complete" | undefined;
  #wake: () => void = () => {};

  /** `onRead` is called when a full queue has room again. */
  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  get full(): boolean {
    return this.#pushed >= mostUnread;
  }

  /** Text that comes before the last was read is read with it: all further work is for each event. */
  push(event: GenerationEvent): void {
    const last = this.#unread.at(-1);
    if (last !== undefined && isPlain(last) && isPlain(event) && last.type === event.type) {
      this.#unread.pop();
      this.#unread.push({ ...last, text: last.text + event.text });
    } else {
      this.#unread.push(event);
    }
    this.#pushed++;
    this.#wake();
  }

  /** No more events follow; unread ones are still read. */
  complete(): void {
    this.#end ??= "complete";
    this.#wake();
  }

  /** Ends the reading at once, and drops unread events. */
  fail(reason: unknown): void {
    if (this.#end !== "complete" || this.#unread.length > 0) this.#end = { reason };
    this.#wake();
  }

  async *read(): AsyncGenerator<GenerationEvent> {
    for (;;) {
      if (typeof this.#end === "object") throw this.#end.reason;
      const event = this.#unread.shift();
      if (this.#unread.length === 0) {
        const wasFull = this.full;
        this.#pushed = 0;
        if (wasFull) this.#onRead();
      }
      if (event !== undefined) {
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

type Written = Extract<GenerationEvent, { type: "text" | "reasoning" }>;

const isPlain = (event: GenerationEvent): event is Written =>
  event.type === "reasoning" ||
  (event.type === "text" && event.logprobs === undefined && event.echoed === undefined);
