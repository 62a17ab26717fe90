/** Brings a slot's sequence to a prompt, evaluating as little of it as possible. */
import type { LlamaContextSequence, Token } from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";
import type { Donor, Slot } from "./slots.ts";

export interface PreparedPrompt {
  /** The prompt's last tokens, at least one and at most a batch, left for the sampler to evaluate. */
  rest: Token[];
  /** How many tokens needed no evaluation. */
  cached: number;
}

/** Tokens of a prompt that are evaluated at once while others generate. */
const sharedPiece = 64;

/**
 * Keeps what the sequence holds of the prompt, or copies more from another slot, and evaluates the
 * rest batch by batch, so that a caller can leave between.
 */
export async function evaluatePrompt(
  slot: Slot,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<PreparedPrompt> {
  const { sequence } = slot;
  if (tokens.length === 0) throw new NodeError("internal", "The prompt has no tokens.");
  // The last token is always evaluated: what comes after it is to be sampled.
  const head = tokens.slice(0, -1);
  const { donor, fresh } = slot;
  if (fresh) await sequence.clearHistory();
  if (donor === undefined || !(await copy(donor, sequence, head, signal))) {
    await sequence.adaptStateToTokens(head, false);
  }
  const cached = sequence.nextTokenIndex;
  const { batchSize } = sequence.context;
  // Whoever generates beside this prompt gets a token after each piece of it.
  const pieceSize = (): number =>
    fresh || slot.alone() ? batchSize : Math.min(batchSize, sharedPiece);
  let start = cached;
  for (let size = pieceSize(); tokens.length - start > size; size = pieceSize()) {
    signal.throwIfAborted();
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(start, start + size));
    start += size;
  }
  signal.throwIfAborted();
  return { rest: tokens.slice(start), cached };
}

/** llama.cpp copies a sequence's cells without evaluating; the library has it, though not in its types. */
type CopyState = (source: LlamaContextSequence, upTo: number) => Promise<boolean>;

async function copy(
  { sequence: source, shared, ready }: Donor,
  target: LlamaContextSequence,
  head: Token[],
  signal: AbortSignal,
): Promise<boolean> {
  const copyState: unknown = Reflect.get(target, "_copyStateFromOtherSequence");
  if (!isCopyState(copyState) || target.needsCheckpoints) return false;
  await readyOrLeft(ready, signal);
  // The source may have left before it held the prompt, or serve somebody else by now.
  const held = source.compareContextTokens(head).firstDifferentIndex;
  const upTo = Math.min(held, shared, head.length);
  if (upTo <= target.compareContextTokens(head).firstDifferentIndex) return false;
  await target.clearHistory();
  if (await copyState.call(target, source, upTo)) return true;
  await target.clearHistory();
  return false;
}

/** Waits, but no longer than its caller does. */
async function readyOrLeft(ready: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener("abort", leave, { once: true });
  try {
    await Promise.race([ready, left]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

const isCopyState = (value: unknown): value is CopyState => typeof value === "function";
