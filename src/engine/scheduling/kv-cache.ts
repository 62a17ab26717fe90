/** The KV cache of a chat context: which tokens each of its sequences holds, and how that changes. */
import type { Token } from "node-llama-cpp";
import type { Checkpoint, NativeChatContext } from "../native/chat-context.ts";

/** States that a sequence can go back to, where its memory cannot be cut at any token. */
const mostCheckpoints = 4;

/** What the cache needs of the context. */
export type CacheContext = Pick<
  NativeChatContext,
  | "sequences"
  | "contextSize"
  | "needsCheckpoints"
  | "truncate"
  | "copy"
  | "takeCheckpoint"
  | "restore"
>;

export class CachedSequence {
  readonly id: number;
  /** The tokens that are evaluated, in order. */
  readonly tokens: Token[] = [];
  /** Whose prompt it holds: nobody else's may find out what is in it. */
  scope: string | undefined;
  /** Shortest first. */
  readonly checkpoints: Checkpoint[] = [];

  constructor(id: number) {
    this.id = id;
  }

  /** How many tokens of a prompt it holds, counted from the beginning, if they are of its scope. */
  shares(prompt: readonly Token[], scope: string | undefined): number {
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

  /** Whether what one sequence holds can be copied into another. */
  get copies(): boolean {
    return !this.#native.needsCheckpoints;
  }

  /** Whether a sequence can go back only to states that were kept. */
  get keepsStates(): boolean {
    return this.#native.needsCheckpoints;
  }

  /** How many tokens must be won by a copy, which copies the room for a whole context. */
  get worthCopying(): number {
    return Math.max(16, Math.floor(this.#native.contextSize / 256));
  }

  /** Forgets what a sequence holds after so many tokens; it may have to forget more than that. */
  async rewind(sequence: CachedSequence, length: number): Promise<void> {
    if (length >= sequence.tokens.length) return;
    if (this.#native.truncate(sequence.id, length)) return cut(sequence, length);
    for (const checkpoint of sequence.checkpoints.toReversed()) {
      if (checkpoint.length > length) continue;
      if (!(await this.#native.restore(sequence.id, checkpoint))) continue;
      return cut(sequence, checkpoint.length);
    }
    this.clear(sequence);
  }

  /** Makes a sequence hold the first tokens of another one. */
  async copyPrefix(target: CachedSequence, source: CachedSequence, length: number): Promise<void> {
    this.clear(target);
    await this.#native.copy(target.id, source.id);
    for (const token of source.tokens) target.tokens.push(token);
    await this.rewind(target, length);
  }

  /** Has another sequence hold what this one holds. */
  async keepElsewhere(sequence: CachedSequence, target: CachedSequence): Promise<void> {
    await this.copyPrefix(target, sequence, sequence.tokens.length);
    target.scope = sequence.scope;
  }

  /** Keeps the state of a sequence, if it could not be cut back to it later. */
  async keepState(sequence: CachedSequence): Promise<void> {
    if (!this.#native.needsCheckpoints) return;
    const { checkpoints } = sequence;
    try {
      checkpoints.push(await this.#native.takeCheckpoint(sequence.id));
    } catch {
      // Without it the next prompt is evaluated from its beginning.
    }
    if (checkpoints.length > mostCheckpoints) checkpoints.shift()?.dispose();
  }

  clear(sequence: CachedSequence): void {
    this.#native.truncate(sequence.id, 0);
    cut(sequence, 0);
  }
}

function cut({ tokens, checkpoints }: CachedSequence, length: number): void {
  tokens.length = length;
  while ((checkpoints.at(-1)?.length ?? 0) > length) checkpoints.pop()?.dispose();
}

export function sharedPrefix(a: readonly Token[], b: readonly Token[]): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index;
  return length;
}
