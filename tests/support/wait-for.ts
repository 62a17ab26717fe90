/** Waits for a condition, never for time; gives up with the condition's name. */

/** Less than a test has, so that it ends with the reason. */
const patienceMs = 1_000_000;

/** `pauseMs`: longer where a node is asked again and again for what takes it seconds. */
export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  pauseMs = 2,
): Promise<void> {
  // A clock that no test turns.
  const deadline = Bun.nanoseconds() + patienceMs * 1e6;
  while (!(await condition())) {
    if (Bun.nanoseconds() > deadline) throw new Error(`Waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
