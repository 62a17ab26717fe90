/**
 * How long the loop of this thread is blocked, in CPU time of the thread: what else the machine
 * does meanwhile lengthens nothing.
 */

export interface LoopWatch extends Disposable {
  /** The longest block since it was last asked for, in milliseconds of CPU time. */
  longest(): number;
  /** Waits until the loop turns with nothing to do: what is not done yet is done by others. */
  idle(): Promise<void>;
}

/** As much may be added to a block: what was done before it, since the last look. */
const lookMs = 5;
/** Where less was done since the last look, looking was all. */
const idleMs = 0.5;
const idleLooks = 4;

export function watchLoop(): LoopWatch {
  let longest = 0;
  let seen = cpuMs();
  let idle = 0;
  let onIdle: (() => void) | undefined;
  const look = (): void => {
    const now = cpuMs();
    const block = now - seen;
    seen = now;
    longest = Math.max(longest, block);
    idle = block < idleMs ? idle + 1 : 0;
    if (idle >= idleLooks) onIdle?.();
  };
  const timer = setInterval(look, lookMs);
  return {
    longest() {
      look();
      const found = longest;
      longest = 0;
      return found;
    },
    idle() {
      idle = 0;
      return new Promise((resolve) => {
        onIdle = resolve;
      });
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
