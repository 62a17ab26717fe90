/** Why tests are skipped on this machine: said once, so that nobody takes what was not tried for what passes. */
import { appendFileSync } from "node:fs";

const said = new Set<string>();

/**
 * For `skipIf`: whether a test cannot run here. The reason says what is missing and how to get it. It is
 * printed, or added as a line to the file that PADDOCK_TEST_SKIPS names, for a run that sums them up.
 */
export function skipUnless(isPossible: boolean, reason: string): boolean {
  if (isPossible || said.has(reason)) return !isPossible;
  said.add(reason);
  const file = process.env.PADDOCK_TEST_SKIPS ?? "";
  if (file === "") console.warn(`Tests are skipped: ${reason}`);
  else appendFileSync(file, `${reason}\n`);
  return true;
}

/** Most programs are in Debian's package of the same name. */
export const notInstalled = (program: string, packageName: string = program): string =>
  `${program} is not installed: apt-get install ${packageName}`;

export const noExecutable =
  "no executable is tested: bun run build, and PADDOCK_TEST_PROGRAM=dist/paddock";
