/** The node's load over the last two minutes, asked for while somebody looks. */
import { signal } from "@preact/signals";
import { send } from "../client.ts";
import { failureOf } from "../failure.ts";
import { type Load, readLoad } from "./metrics.ts";
import { refreshNode } from "./state.ts";

const everyMs = 2000;
const mostSamples = 60;

export interface Sample {
  queue: number;
  slotsInUse: number;
  slots: number;
  tokensPerSecond: number;
}

export const samples = signal<readonly Sample[]>([]);
/** Why there is no picture, as a sentence. */
export const noLoad = signal<string | undefined>(undefined);

let before: (Load & { at: number }) | undefined;

/** Asks every two seconds while the page is visible; gives what ends it. */
export function watchLoad(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const turn = async (): Promise<void> => {
    if (document.visibilityState === "visible") await Promise.all([sample(), refreshNode()]);
    if (!ended) timer = setTimeout(turn, everyMs);
  };
  void turn();
  return () => {
    ended = true;
    before = undefined;
    clearTimeout(timer);
  };
}

async function sample(): Promise<void> {
  try {
    const response = await send("/metrics");
    noLoad.value = response.ok ? undefined : reasonOf(response.status);
    if (response.ok) add(readLoad(await response.text()));
  } catch (error) {
    noLoad.value = failureOf(error).message;
  }
}

function reasonOf(status: number): string {
  if (status === 404) return "This node reports no metrics, so there is no picture of its load.";
  if (status === 401 || status === 403) {
    return "The node's metrics need a key that opens them, so there is no picture of its load.";
  }
  return `The node answered a question about its load with status ${status}.`;
}

function add(load: Load): void {
  const at = performance.now();
  // A counter that fell is that of a node started anew.
  const grown = before === undefined ? 0 : load.generatedTokens - before.generatedTokens;
  const tokensPerSecond = before === undefined || grown < 0 ? 0 : (grown / (at - before.at)) * 1000;
  before = { ...load, at };
  const { queue, slotsInUse, slots } = load;
  samples.value = [
    ...samples.value.slice(1 - mostSamples),
    { queue, slotsInUse, slots, tokensPerSecond },
  ];
}
