/** Reads the node's metrics, which are in Prometheus' text format. */

export interface Load {
  queue: number;
  slotsInUse: number;
  slots: number;
  generatedTokens: number;
}

/** The sums over all models; what the node does not report counts as 0. */
export function readLoad(text: string): Load {
  return {
    queue: sumOf(text, "paddock_queue_length"),
    slotsInUse: sumOf(text, "paddock_slots_in_use"),
    slots: sumOf(text, "paddock_slots"),
    generatedTokens: sumOf(text, "paddock_generated_tokens_total"),
  };
}

function sumOf(text: string, name: string): number {
  const samples = text.matchAll(new RegExp(`^${name}(?:\\{[^\\n]*\\})? +([^ \\n]+)`, "gm"));
  let sum = 0;
  for (const [, value] of samples) sum += Number(value);
  return Number.isFinite(sum) ? sum : 0;
}
