/** Waits for a condition, never for time; gives up with the condition's name. */

/** Less than a test has, so that it ends with the reason. */
const patienceMs = 1_000_000;

export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  // A clock that no test turns.
  const deadline = Bun.nanoseconds() + patienceMs * 1e6;
  while (!(await condition())) {
    if (Bun.nanoseconds() > deadline) throw new Error(`Waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
