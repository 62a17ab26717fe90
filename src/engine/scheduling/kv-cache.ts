/** The KV cache of a chat context: which tokens each of its sequences holds, for reuse as a prefix cache. */
import type { Token } from "node-llama-cpp";
import type { Checkpoint } from "../native/bindings.ts";
import type { NativeChatContext } from "../native/contexts.ts";
import { isShort } from "./batch-planner.ts";

/** How many times as many tokens may be evaluated to fill a tile of attention … */
const mostWider = 1.25;
/** … of a model of so many bytes, which spends its time on attention, or after so many tokens. */
const [smallModel, leastPast] = [64 * 1024 * 1024, 128];
/** Checkpoints of one sequence, if its memory cannot be truncated at any token. */
const mostCheckpoints = 4;

export type CacheContext = Pick<
  NativeChatContext,
  | "sequences"
  | "contextSize"
  | "batchSize"
  | "needsCheckpoints"
  | "attentionTile"
  | "modelBytes"
  | "truncate"
  | "copy"
  | "takeCheckpoint"
  | "restore"
>;

export class CachedSequence {
  readonly id: number;
  readonly tokens: Token[] = [];
  /** The scope of its prompt. A prompt of another scope must not learn its content from a cache hit. */
  scope: string | undefined;
  /** Shortest first. */
  readonly checkpoints: Checkpoint[] = [];

  constructor(id: number) {
    this.id = id;
  }

  /** How many tokens of the prompt it holds, from the first on; none if the scope differs. */
  cachedTokens(prompt: readonly Token[], scope: string | undefined): number {
    return this.scope === scope ? sharedPrefix(this.tokens, prompt) : 0;
  }
}

export class KvCache {
  readonly sequences: readonly CachedSequence[];
  readonly #native: CacheContext;

  constructor(native: CacheContext) {
    this.#native = native;
    this.sequences = Array.from({ length: native.sequences }, (_, id) => new CachedSequence(id));
  }

  /** A sequence that cannot be copied can be rewound to its checkpoints only. */
  get canCopy(): boolean {
    return !this.#native.needsCheckpoints;
  }

  /** How many tokens a copy must save to be worth its time: it copies the cells of a whole context. */
  get minCopiedTokens(): number {
    return Math.max(16, Math.floor(this.#native.contextSize / 256));
  }

  /** The same where another prompt has yet to be evaluated: a step with room for many tokens takes about as long without these. */
  get minAwaitedTokens(): number {
    return Math.max(this.minCopiedTokens, Math.floor(this.#native.batchSize / 32));
  }

  /** Whether so many tokens of a prompt are sooner evaluated than more of one beside it. */
  isShort(tokens: number): boolean {
    return isShort(tokens, this.#native.batchSize);
  }

  /** How many of the first tokens of a prompt to reuse, if so many are held. A rest that nearly fills a tile of attention is sooner evaluated if it fills it. */
  reusedTokens(held: number, promptLength: number): number {
    const { attentionTile: tile, modelBytes } = this.#native;
    const rest = promptLength - held;
    const isNearlyFull = rest < tile && rest * mostWider >= tile && promptLength >= tile;
    const isSooner = held >= leastPast || modelBytes <= smallModel;
    // One that can only go back to a checkpoint would lose more.
    return isNearlyFull && isSooner && this.canCopy ? promptLength - tile : held;
  }

  /** Drops the tokens after `length`, and more if the sequence can only go back to a checkpoint. */
  async rewind(sequence: CachedSequence, length: number): Promise<void> {
    if (length >= sequence.tokens.length) return;
    if (this.#native.truncate(sequence.id, length)) return forgetAfter(sequence, length);
    for (const checkpoint of sequence.checkpoints.toReversed()) {
      if (lengthOf(checkpoint) > length) continue;
      if (!(await this.#native.restore(sequence.id, checkpoint))) continue;
      return forgetAfter(sequence, lengthOf(checkpoint));
    }
    this.clear(sequence);
  }

  async copyPrefix(target: CachedSequence, source: CachedSequence, length: number): Promise<void> {
    this.clear(target);
    await this.#native.copy(target.id, source.id);
    for (const token of source.tokens) target.tokens.push(token);
    await this.rewind(target, length);
  }

  async copyTo(target: CachedSequence, source: CachedSequence): Promise<void> {
    await this.copyPrefix(target, source, source.tokens.length);
    target.scope = source.scope;
  }

  /** Takes a checkpoint if the sequence cannot be truncated to this length later. */
  async takeCheckpoint(sequence: CachedSequence): Promise<void> {
    if (this.canCopy) return;
    const { checkpoints } = sequence;
    try {
      checkpoints.push(await this.#native.takeCheckpoint(sequence.id));
    } catch {
      // Only speed is lost: the next prompt is evaluated from its beginning.
    }
    if (checkpoints.length > mostCheckpoints) checkpoints.shift()?.dispose();
  }

  clear(sequence: CachedSequence): void {
    this.#native.truncate(sequence.id, 0);
    forgetAfter(sequence, 0);
  }
}

function forgetAfter({ tokens, checkpoints }: CachedSequence, length: number): void {
  tokens.length = length;
  while ((checkpoints.at(-1)?.maxPos ?? -1) >= length) checkpoints.pop()?.dispose();
}

const lengthOf = ({ maxPos }: Checkpoint): number => maxPos + 1;

export function sharedPrefix(a: readonly Token[], b: readonly Token[]): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index;
  return length;
}
