/** Continuous batching: one loop owns the context and computes all answers in steps, so no request waits longer than a step. */
import type { Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import { nextTurn } from "../../core/turns.ts";
import type { StepWatch } from "../machine/steps.ts";
import type { Decoded, NativeChatContext, PartOutput } from "../native/contexts.ts";
import { nothingLeft } from "../native/sampler.ts";
import { type Feed, RunningAnswer, type ScheduledPrompt, scorePrompt } from "./answer.ts";
import { BatchPlanner, type PlannedPart, toBatchPart } from "./batch-planner.ts";
import type { KvCache } from "./kv-cache.ts";

export type StepContext = Pick<
  NativeChatContext,
  "batchSize" | "decode" | "gatherMs" | "halt" | "releaseThreads"
>;

/** A part of a step, while what is sampled after it is taken. */
interface TakenPart extends PlannedPart {
  /** What the step evaluates of it and the sequence does not hold yet. */
  unheld: readonly Token[];
  /** Whether the answer goes on with what is sampled; else the sequence holds it only. */
  goesOn: boolean;
}

export class Scheduler {
  readonly #native: StepContext;
  readonly #cache: KvCache;
  readonly #steps: StepWatch;
  readonly #planner: BatchPlanner;
  /** In the order in which they came. */
  readonly #runs = new Set<RunningAnswer>();
  #loop: Promise<void> = Promise.resolve();
  #running = false;
  #lastStartedAt = Number.NEGATIVE_INFINITY;
  /** Whether wake was called since the loop last looked for work. */
  #woken = false;
  #closed: Error | undefined;

  /** `steps` counts everything that the context computes or copies. */
  constructor(native: StepContext, cache: KvCache, steps: StepWatch) {
    this.#native = native;
    this.#cache = cache;
    this.#steps = steps;
    const { batchSize } = native;
    this.#planner = new BatchPlanner({ batchSize, needsCheckpoints: !cache.canCopy });
  }

  start(scheduled: ScheduledPrompt): () => void {
    const run = new RunningAnswer(scheduled);
    if (this.#closed !== undefined) throw this.#closed;
    this.#runs.add(run);
    this.#lastStartedAt = performance.now();
    this.wake();
    return () => {
      run.stopped = true;
      this.#runs.delete(run);
      // Another answer may have waited to copy the prefix that this one was evaluating.
      this.wake();
    };
  }

  /** Says that there may be something to do: an answer that was paused is read again. */
  wake(): void {
    this.#woken = true;
    this.#native.halt();
    if (this.#running) return;
    this.#running = true;
    this.#loop = this.#run();
  }

  /** Ends every answer, and waits for the step in progress, which still reads the weights. */
  async close(reason: Error): Promise<void> {
    this.#closed = reason;
    for (const run of this.#runs) this.#fail(run, reason);
    this.#native.halt();
    await this.#loop;
  }

  async #run(): Promise<void> {
    try {
      await this.#gather();
      for (;;) {
        this.#woken = false;
        await this.#steps.run(0, () => this.#prepareSequences());
        const parts = this.#planner.plan(this.#runs);
        const late = parts.filter(({ run }) => run.awaited !== undefined);
        for (const { run } of late) run.waitNoMore();
        if (late.length > 0) continue;
        if (parts.length > 0) {
          const tokens = parts.reduce((sum, part) => sum + part.tokens.length, 0);
          await this.#steps.run(tokens, () => this.#step(parts));
          await readersHaveRead();
        } else if (!this.#woken) {
          break;
        }
      }
    } catch (error) {
      // An error of the loop itself ends every answer: none may wait for ever.
      for (const run of this.#runs) this.#fail(run, error);
    }
    // Nothing is awaited between the last look for work and this line, so no call to wake is lost.
    this.#running = false;
    this.#native.releaseThreads();
  }

  /** Until no more prompts come, or they fill a pass: one that missed the first would wait for the whole of it. Timers are too coarse for it. */
  async #gather(): Promise<void> {
    const { batchSize, gatherMs } = this.#native;
    const tokens = (): number =>
      [...this.#runs].reduce((sum, { scheduled }) => sum + scheduled.prompt.length, 0);
    while (performance.now() < this.#lastStartedAt + gatherMs && tokens() < batchSize) {
      await nextTurn();
    }
  }

  async #prepareSequences(): Promise<void> {
    for (const run of this.#runs) {
      try {
        if (!run.prepared) await this.#prepare(run);
        else if (run.rewindTo !== undefined) await this.#rewind(run, run.rewindTo);
      } catch (error) {
        this.#fail(run, error);
      }
    }
  }

  /** Reuses what the sequence holds of the prompt, or copies more of it from another. */
  async #prepare(run: RunningAnswer): Promise<void> {
    const { sequence, prompt, fresh, evictionTarget, scope, answer } = run.scheduled;
    if (run.waits()) return;
    const { source } = run;
    const target = evictionTarget();
    if (target !== undefined) await this.#cache.copyTo(target, sequence);
    // The last token is always evaluated, since the next one is sampled from its logits.
    const head = prompt.slice(0, -1);
    const held = fresh || run.isScored ? 0 : sequence.cachedTokens(head, scope);
    const own = this.#cache.reusedTokens(held, prompt.length);
    const offered = source?.sequence.cachedTokens(head, scope) ?? 0;
    const shared = Math.min(offered, source?.shared ?? 0);
    const copied = this.#cache.reusedTokens(shared, prompt.length);
    if (source !== undefined && copied > own && this.#cache.canCopy) {
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

  async #rewind(run: RunningAnswer, length: number): Promise<void> {
    run.rewindTo = undefined;
    const { sequence } = run;
    if (sequence.tokens.length <= length) return;
    const held = sequence.tokens.slice(0, length);
    await this.#cache.rewind(sequence, length);
    run.pending = [...held.slice(sequence.tokens.length), ...run.pending];
  }

  async #step(parts: readonly PlannedPart[]): Promise<void> {
    const startedAt = performance.now();
    const answers = parts.filter(({ run }) => run.decodes).length;
    const total = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    // A seed promises the same answer each time, as far as the step can.
    const steady = parts.some(({ run }) => run.scheduled.fresh);
    // Who waits with a prompt has the next step.
    const isAlone = [...this.#runs].every((run) => run.decodes);
    const mostTimes = steady || !isAlone || !this.#cache.canCopy ? 1 : roomOf(parts);
    const taken = parts.map((part) => ({ ...part, unheld: part.tokens, goesOn: true }));
    const onTokens = (outputs: readonly PartOutput[]): void => this.#takeTokens(taken, outputs);
    let decoded: Decoded;
    try {
      const options = { steady, mostTimes, onTokens };
      decoded = await this.#native.decode(parts.map(toBatchPart), options);
    } catch (error) {
      // After a failed decode it is not known what the KV cache holds.
      for (const { run } of parts) {
        this.#cache.clear(run.sequence);
        this.#fail(run, error);
      }
      return;
    }
    const { outputs, times } = decoded;
    for (const [at, part] of taken.entries()) {
      // All was taken already.
      if (outputs[at]?.sampled?.length === 0 && outputs[at].isStuck !== true) continue;
      const { run } = part;
      hold(part);
      if (run.inPrefill && run.pending.length === 1) await this.#cache.takeCheckpoint(run.sequence);
    }
    await Promise.all(taken.map((part, at) => this.#takeOutput(part, outputs[at])));
    const ms = (performance.now() - startedAt) / times;
    this.#planner.took({ answers, promptTokens: total - answers, ms });
  }

  /** What was sampled while the step goes on. */
  #takeTokens(parts: readonly TakenPart[], outputs: readonly PartOutput[]): void {
    // Its reader has not read what it got the last time.
    const isBehind = parts.some(({ run }) => run.answer.paused);
    for (const [at, part] of parts.entries()) {
      hold(part);
      this.#acceptAll(part, outputs[at] ?? {});
    }
    if (isBehind || parts.some(({ goesOn }) => !goesOn)) this.#native.halt();
  }

  async #takeOutput(part: TakenPart, of: PartOutput | undefined): Promise<void> {
    if (of?.output === undefined) return;
    const { run, tokens } = part;
    try {
      if (run.isScored) await scorePrompt(run, tokens.length, of.output);
      if (of.sampled !== undefined) this.#acceptAll(part, of);
      else if (run.pending.length === 0) await this.#sample(run, of.output);
    } catch (error) {
      this.#fail(run, error);
    }
  }

  async #sample(run: RunningAnswer, output: number): Promise<void> {
    if (run.stopped) return;
    const { answer } = run;
    const { sampler, topLogits: top } = answer;
    const sampled =
      top === undefined
        ? { token: await sampler.sample(output) }
        : await sampler.sampleWithLogits(output, top);
    if (run.stopped) return;
    run.inPrefill = false;
    this.#goOn(run, answer.accept(sampled));
  }

  /** What the step itself has sampled: all but the last are evaluated, also those that the answer does not want any more. */
  #acceptAll(part: TakenPart, { sampled = [], isStuck = false }: PartOutput): void {
    const { run } = part;
    const { sequence, answer } = run;
    const start = sequence.tokens.length;
    const tokens = sampled.map(({ token }) => token);
    const end = isStuck ? tokens.length : -1;
    for (const token of tokens.slice(0, end)) sequence.tokens.push(token);
    part.unheld = isStuck ? [] : tokens.slice(-1);
    run.inPrefill = false;
    try {
      for (const [at, each] of sampled.entries()) {
        part.goesOn &&= !run.stopped;
        if (!part.goesOn) return;
        const feed = answer.accept(each);
        part.goesOn = feed !== undefined && continues(feed, each.token);
        if (!part.goesOn) this.#goOn(run, feed && { rewindTo: start + at, ...feed });
      }
      if (part.goesOn && isStuck) throw nothingLeft();
      if (part.goesOn) this.#goOn(run, { tokens: part.unheld });
    } catch (error) {
      part.goesOn = false;
      this.#fail(run, error);
    }
  }

  #goOn(run: RunningAnswer, feed: Feed | undefined): void {
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

  #fail(run: RunningAnswer, reason: unknown): void {
    this.#runs.delete(run);
    if (!run.stopped) run.answer.fail(reason);
    run.stopped = true;
  }
}

/** How many tokens every one of the answers may still take. */
const roomOf = (parts: readonly PlannedPart[]): number =>
  Math.min(...parts.map(({ run }) => run.answer.room));

/** The sequence has what was evaluated. */
function hold(part: TakenPart): void {
  const { run, unheld, goesOn } = part;
  for (const token of unheld) run.sequence.tokens.push(token);
  if (goesOn) run.pending = run.pending.slice(unheld.length);
  part.unheld = [];
}

/** Whether an answer goes on with its last token. */
const continues = ({ rewindTo, tokens, changesSampler = false }: Feed, last: Token): boolean =>
  rewindTo === undefined && !changesSampler && tokens.length === 1 && tokens[0] === last;

/** Lets readers forward their tokens, and what they deferred in a second turn: during a batch they would slow its threads. */
async function readersHaveRead(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
