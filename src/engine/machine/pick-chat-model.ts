/** Which of the models at hand a node serves when nobody named one. */
import type { Machine } from "./machine.ts";
import { estimateMemory, type ModelFacts } from "./model-memory.ts";

/** Share of all the memory, not of what is free: the choice is the same at every start. */
const comfortable = 0.6;
const usualContext = 4096;

/** The largest chat model that leaves room to live in; nothing where there is none. */
export function pickChatModel(
  candidates: readonly ModelFacts[],
  { memory }: Machine,
  parallel: number,
): ModelFacts | undefined {
  const fits = (facts: ModelFacts): boolean => {
    const contextSize = Math.min(facts.trainContext, usualContext);
    return estimateMemory(facts, { contextSize, parallel }).total <= memory * comfortable;
  };
  return candidates
    .filter((facts) => facts.kind === "chat" && facts.hasChatTemplate && fits(facts))
    .sort((a, b) => b.parameters - a.parameters || b.bytes - a.bytes)
    .at(0);
}

export interface PickOptions {
  /** Chat answers at the same time. */
  parallel: number;
  machine: () => Promise<Machine>;
  readFacts: (path: string) => Promise<ModelFacts>;
}

/** The same among files; says how many of them are chat models, and which one was picked. */
export async function pickChatFile(
  paths: readonly string[],
  { parallel, machine, readFacts }: PickOptions,
): Promise<{ candidates: number; file: string | undefined }> {
  const candidates: ModelFacts[] = [];
  for (const path of paths) {
    // What cannot be read is no candidate; 'paddock models' says why.
    const facts = await readFacts(path).catch(() => undefined);
    if (facts?.kind === "chat") candidates.push(facts);
  }
  if (candidates.length === 0) return { candidates: 0, file: undefined };
  const picked = pickChatModel(candidates, await machine(), parallel);
  return { candidates: candidates.length, file: picked?.files[0] };
}
