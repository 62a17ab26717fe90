/**
 * Continuous batching: one loop owns the context. Each step takes in what came, adds the next token
 * of every answer and as much of the prompts as fits, decodes once, samples all and hands the tokens
 * on. Nothing else touches the context, so nobody waits for longer than a step.
 */
import type { Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type { BatchPart, NativeChatContext } from "../native/chat-context.ts";
import type { NativeSampler, SampledLogits } from "../native/sampler.ts";
import type { CachedSequence, KvCache } from "./kv-cache.ts";
import { PromptPace } from "./prompt-pace.ts";

/** What the scheduler needs of the context. */
export type StepContext = Pick<NativeChatContext, "batchSize" | "decode" | "rest">;

/** What an answer wants to be evaluated before its next token is sampled. */
export interface Feed {
  /** Goes back to so many tokens of prompt and answer first. */
  rewindTo?: number;
  tokens: readonly Token[];
}

export interface Sampled {
  token: Token;
  /** Where log probabilities are wanted. */
  logits?: SampledLogits;
}

/** An answer as the scheduler drives it. None of its methods may wait. */
export interface Answer {
  readonly sampler: Pick<NativeSampler, "sample" | "sampleWithLogits">;
  /** How many of the likeliest tokens' logits it wants to know; absent: none. */
  readonly topLogits: number | undefined;
  /** Whether its reader is so far behind that it is left out of the next steps. */
  readonly paused: boolean;
  /** Its prompt is about to be evaluated, but for so many tokens that are already; what follows it. */
  begin(cachedTokens: number): Feed | undefined;
  /** Takes its next token; nothing: it is complete. */
  accept(sampled: Sampled): Feed | undefined;
  fail(reason: unknown): void;
}

/** Where another sequence's beginning can be copied from. */
export interface PrefixSource {
  sequence: CachedSequence;
  /** How many tokens of the prompt it has, or will have. */
  shared: number;
  /** Whether it is still about to evaluate them. */
  pending(): boolean;
}

export interface ScheduledPrompt {
  sequence: CachedSequence;
  prompt: readonly Token[];
  /** Evaluates all of it in full batches of its own, so that the arithmetic is the same each time. */
  fresh: boolean;
  source: PrefixSource | undefined;
  /** A free sequence to take what the sequence holds, where that would be lost. */
  keeper: () => CachedSequence | undefined;
  /** Whose prompt it is; what the sequence holds of another scope is not used. */
  scope: string | undefined;
  answer: Answer;
}

class Run {
  readonly scheduled: ScheduledPrompt;
  /** What is still to be evaluated before the next token is sampled. */
  pending: Token[] = [];
  rewindTo: number | undefined;
  /** Whether its sequence has been made ready for its prompt. */
  prepared = false;
  /** Whether its first token is still to come. */
  inPrompt = true;
  stopped = false;

  constructor(scheduled: ScheduledPrompt) {
    this.scheduled = scheduled;
  }

  get sequence(): CachedSequence {
    return this.scheduled.sequence;
  }

  get answer(): Answer {
    return this.scheduled.answer;
  }

  take({ rewindTo, tokens }: Feed): void {
    if (rewindTo !== undefined) this.rewindTo = rewindTo;
    for (const token of tokens) this.pending.push(token);
  }

  /** Whether only its last token is missing. */
  get writes(): boolean {
    return !this.inPrompt && this.pending.length === 1;
  }
}

export class Scheduler {
  readonly #native: StepContext;
  readonly #cache: KvCache;
  readonly #pace = new PromptPace();
  /** In the order in which they came. */
  readonly #runs = new Set<Run>();
  #loop: Promise<void> = Promise.resolve();
  #running = false;
  /** Whether anything came since the loop last looked. */
  #woken = false;
  /** A prompt that is evaluated by itself lets the answers have the next step. */
  #ranAlone = false;
  #closed: Error | undefined;

  constructor(native: StepContext, cache: KvCache) {
    this.#native = native;
    this.#cache = cache;
  }

  /** Begins an answer; what is returned ends it. */
  start(scheduled: ScheduledPrompt): () => void {
    const run = new Run(scheduled);
    if (this.#closed !== undefined) throw this.#closed;
    this.#runs.add(run);
    this.wake();
    return () => {
      run.stopped = true;
      this.#runs.delete(run);
      // Another may have waited for what this one was about to evaluate.
      this.wake();
    };
  }

  /** Says that there may be something to do: an answer that was paused is read again. */
  wake(): void {
    this.#woken = true;
    if (this.#running) return;
    this.#running = true;
    this.#loop = this.#run();
  }

  /** Ends what runs, and waits for the step in progress: the weights must not go from under it. */
  async close(reason: Error): Promise<void> {
    this.#closed = reason;
    for (const run of this.#runs) this.#fail(run, reason);
    await this.#loop;
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        this.#woken = false;
        await this.#takeIn();
        const parts = this.#plan();
        if (parts.length > 0) {
          await this.#step(parts);
          await readersHaveRead();
        } else if (!this.#woken) {
          break;
        }
      }
    } catch (error) {
      // Nobody foresaw it, and nobody may wait for ever because of it.
      for (const run of this.#runs) this.#fail(run, error);
    }
    // Nothing is awaited between the last look and this, so that no call to wake is lost.
    this.#running = false;
    this.#native.rest();
  }

  /** Brings every sequence to where its answer wants it. */
  async #takeIn(): Promise<void> {
    for (const run of this.#runs) {
      try {
        if (!run.prepared) await this.#prepare(run);
        else if (run.rewindTo !== undefined) await this.#rewind(run, run.rewindTo);
      } catch (error) {
        this.#fail(run, error);
      }
    }
  }

  /** Keeps what the sequence holds of the prompt, or copies more of it from another. */
  async #prepare(run: Run): Promise<void> {
    const { sequence, prompt, fresh, source, keeper, scope, answer } = run.scheduled;
    if (source?.pending() === true) return;
    const place = keeper();
    if (place !== undefined) await this.#cache.keepElsewhere(sequence, place);
    // The last token is always evaluated: what comes after it is to be sampled.
    const head = prompt.slice(0, -1);
    const own = fresh ? 0 : sequence.shares(head, scope);
    const offered = source?.sequence.shares(head, scope) ?? 0;
    const copied = Math.min(offered, source?.shared ?? 0);
    if (source !== undefined && copied > own && this.#cache.copies) {
      await this.#cache.copyPrefix(sequence, source.sequence, copied);
    } else {
      await this.#cache.rewind(sequence, own);
    }
    sequence.scope = scope;
    if (run.stopped) return;
    run.prepared = true;
    run.pending = prompt.slice(sequence.tokens.length);
    this.#goOn(run, answer.begin(sequence.tokens.length));
  }

  async #rewind(run: Run, length: number): Promise<void> {
    run.rewindTo = undefined;
    const { sequence } = run;
    const held = sequence.tokens.slice(0, length);
    await this.#cache.rewind(sequence, length);
    run.pending = [...held.slice(sequence.tokens.length), ...run.pending];
  }

  /** What the next step evaluates, in the order of the sequences: llama.cpp joins neighbours only. */
  #plan(): Part[] {
    const ready = [...this.#runs].filter((run) => run.prepared && run.pending.length > 0);
    const writing = ready.filter((run) => run.writes && !run.answer.paused);
    const prompts = ready.filter((run) => !run.writes && !run.answer.paused);
    const [first] = prompts;
    const others = prompts.filter(({ scheduled }) => !scheduled.fresh);
    const isAlone = writing.length + others.length === 0;
    if (first?.scheduled.fresh === true && (isAlone || !this.#ranAlone)) {
      this.#ranAlone = true;
      const size = Math.min(this.#native.batchSize, this.#pieceEnd(first));
      return [{ run: first, tokens: first.pending.slice(0, size) }];
    }
    this.#ranAlone = false;
    const parts: Part[] = writing.map((run) => ({ run, tokens: run.pending }));
    let room = this.#native.batchSize - parts.length;
    if (parts.length > 0) room = Math.min(room, this.#pace.piece);
    for (const run of shortFirst(others, room)) {
      if (room === 0) break;
      const tokens = run.pending.slice(0, Math.min(room, this.#pieceEnd(run)));
      room -= tokens.length;
      parts.push({ run, tokens });
    }
    return parts.sort((a, b) => a.run.sequence.id - b.run.sequence.id);
  }

  /** Where a state must be kept, it is that before the prompt's last token, which is always evaluated. */
  #pieceEnd({ inPrompt, pending }: Run): number {
    const keepsState = this.#cache.keepsStates && inPrompt && pending.length > 1;
    return keepsState ? pending.length - 1 : pending.length;
  }

  async #step(parts: readonly Part[]): Promise<void> {
    const startedAt = performance.now();
    const answers = parts.filter(({ run }) => run.writes).length;
    const total = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    let outputs: (number | undefined)[];
    try {
      outputs = await this.#native.decode(parts.map(toBatchPart));
    } catch (error) {
      // What the sequences hold is not known any more.
      for (const { run } of parts) {
        this.#cache.clear(run.sequence);
        this.#fail(run, error);
      }
      return;
    }
    this.#pace.took({ answers, promptTokens: total - answers, ms: performance.now() - startedAt });
    for (const { run, tokens } of parts) {
      for (const token of tokens) run.sequence.tokens.push(token);
      run.pending = run.pending.slice(tokens.length);
      if (run.inPrompt && run.pending.length === 1) await this.#cache.keepState(run.sequence);
    }
    await Promise.all(parts.map(({ run }, at) => this.#sample(run, outputs[at])));
  }

  /** Samples a run's next token and hands it on. */
  async #sample(run: Run, output: number | undefined): Promise<void> {
    if (output === undefined || run.stopped) return;
    const { answer } = run;
    try {
      const { topLogits: top } = answer;
      const sampled = await (top === undefined
        ? answer.sampler.sample(output).then((token) => ({ token }))
        : answer.sampler
            .sampleWithLogits(output, top)
            .then((logits) => ({ token: logits.token, logits })));
      if (run.stopped) return;
      run.inPrompt = false;
      this.#goOn(run, answer.accept(sampled));
    } catch (error) {
      this.#fail(run, error);
    }
  }

  #goOn(run: Run, feed: Feed | undefined): void {
    if (feed === undefined) {
      this.#runs.delete(run);
      return;
    }
    run.take(feed);
    if (run.pending.length > 0) return;
    this.#fail(
      run,
      new NodeError("internal", "There is nothing to evaluate before the next token."),
    );
  }

  #fail(run: Run, reason: unknown): void {
    this.#runs.delete(run);
    if (!run.stopped) run.answer.fail(reason);
    run.stopped = true;
  }
}

/** Those that are over with a part of the room do not wait for a long one before them. */
function shortFirst(prompts: readonly Run[], room: number): Run[] {
  const isShort = ({ pending }: Run): boolean => pending.length <= room / 4;
  return [...prompts.filter(isShort), ...prompts.filter((run) => !isShort(run))];
}

/** What one run has in a step. */
interface Part {
  run: Run;
  tokens: readonly Token[];
}

const toBatchPart = ({ run, tokens }: Part): BatchPart => ({
  sequence: run.sequence.id,
  position: run.sequence.tokens.length,
  tokens,
  output: tokens.length === run.pending.length,
});

/**
 * Lets whoever reads take their tokens and pass them on before the next batch is computed: on a
 * machine with few cores, what they do meanwhile would take a core from under llama.cpp's threads,
 * which wait for each other at every layer. The first turn is the readers', the second comes after
 * what they put off to it.
 */
async function readersHaveRead(): Promise<void> {
  await new Promise(setImmediate);
  await new Promise(setImmediate);
}
