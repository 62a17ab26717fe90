/** Waits for a condition, never for time; gives up with the condition's name. */

export async function waitFor(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { withinMs = 60_000 } = {},
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
