/** Waits for a condition, never for time; gives up with the condition's name. */

/** Less than a test has, so that it ends with the reason. */
const patienceMs = 1_000_000;

/** Looks at once, then less and less often: looking takes a core from what is waited for. */
const firstPauseMs = 1;
const longestPauseMs = 20;

/** `pauseMs`: always as long, where a node is asked again and again for what takes it seconds. */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  pauseMs?: number,
): Promise<void> {
  // A clock that no test turns.
  const deadline = Bun.nanoseconds() + patienceMs * 1e6;
  let pause = pauseMs ?? firstPauseMs;
  while (!(await condition())) {
    if (Bun.nanoseconds() > deadline) throw new Error(`Waited in vain for: ${what}`);
    const ms = pause;
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (pauseMs === undefined) pause = Math.min(1.5 * pause, longestPauseMs);
  }
}
