/** Asks before something is removed for good. */
import { NodeError } from "../core/errors.ts";
import type { Shell } from "./shell.ts";

/** `deed` follows "This would": `remove the model x.gguf`. */
export async function confirm(shell: Pick<Shell, "input" | "say">, deed: string): Promise<boolean> {
  if (!shell.input.isTerminal) {
    throw new NodeError("invalid_request", `This would ${deed}. Nobody is here to ask; say --yes.`);
  }
  shell.say(`${deed.charAt(0).toUpperCase()}${deed.slice(1)}? [y/N] `);
  return /^y(es)?$/i.test((await shell.input.line()).trim());
}
