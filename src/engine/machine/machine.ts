/** What of the machine decides which models it can run. */

export interface Machine {
  /** Bytes of memory that the process may have at most: the machine's, or what a control group grants. */
  memory: number;
  /** Bytes of it that nobody uses now. */
  availableMemory: number;
  /** What sets the bound. */
  memoryBound: "machine" | "control group";
  /** The memory of the accelerator, where there is one that the engine can use. */
  accelerator?: { memory: number; availableMemory: number };
}

/** The machine with its memory bounded by a limit; absent: no bound. */
export function withinLimit(machine: Machine, limit: number | undefined): Machine {
  const most = limit ?? Number.POSITIVE_INFINITY;
  return {
    ...machine,
    memory: Math.min(machine.memory, most),
    availableMemory: Math.min(machine.availableMemory, most),
  };
}
