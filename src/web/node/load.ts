/** The node's load over the last two minutes, sampled while the page shows it. */
import { signal } from "@preact/signals";
import { ApiError } from "../../client/api-error.ts";
import { api } from "../client.ts";
import { failureOf } from "../failure.ts";
import { pollNode } from "./state.ts";

const everyMs = 2000;
const mostSamples = 60;

interface Load {
  queue: number;
  slotsInUse: number;
  slots: number;
  generatedTokens: number;
}

export interface Sample extends Omit<Load, "generatedTokens"> {
  tokensPerSecond: number;
}

export const samples = signal<readonly Sample[]>([]);
/** Why the load is not known, as a sentence. */
export const loadFailure = signal<string | undefined>(undefined);

let before: (Load & { at: number }) | undefined;

/** Samples every two seconds while the page is visible; returns a function that stops it. */
export function watchLoad(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const poll = async (): Promise<void> => {
    if (document.visibilityState === "visible") await Promise.all([sample(), pollNode()]);
    if (!ended) timer = setTimeout(poll, everyMs);
  };
  void poll();
  return () => {
    ended = true;
    before = undefined;
    clearTimeout(timer);
  };
}

async function sample(): Promise<void> {
  try {
    add(readLoad(await api.metrics()));
    loadFailure.value = undefined;
  } catch (error) {
    loadFailure.value = reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError) || error.kind !== "status") return failureOf(error).message;
  const { status } = error;
  if (status === 404) return "This node reports no metrics, so there is no picture of its load.";
  if (status === 401 || status === 403) {
    return "The node's metrics need a key that opens them, so there is no picture of its load.";
  }
  return `The node answered a question about its load with status ${status}.`;
}

function add(load: Load): void {
  const at = performance.now();
  // The counter falls when the node is restarted.
  const grown = before === undefined ? 0 : load.generatedTokens - before.generatedTokens;
  const tokensPerSecond = before === undefined || grown < 0 ? 0 : (grown / (at - before.at)) * 1000;
  before = { ...load, at };
  const { queue, slotsInUse, slots } = load;
  samples.value = [
    ...samples.value.slice(1 - mostSamples),
    { queue, slotsInUse, slots, tokensPerSecond },
  ];
}

/** Sums over all models, from Prometheus' text format; missing metrics count as 0. */
function readLoad(text: string): Load {
  return {
    queue: sumOf(text, "paddock_queue_length"),
    slotsInUse: sumOf(text, "paddock_slots_in_use"),
    slots: sumOf(text, "paddock_slots"),
    generatedTokens: sumOf(text, "paddock_generated_tokens_total"),
  };
}

function sumOf(text: string, name: string): number {
  const samples = text.matchAll(new RegExp(`^${name}(?:\\{[^\\n]*\\})? +([^ \\n]+)`, "gm"));
  const values = samples.map(([, value]) => Number(value)).filter(Number.isFinite);
  return values.reduce((sum, value) => sum + value, 0);
}
