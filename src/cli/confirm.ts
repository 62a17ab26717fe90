/** Asks before something is removed for good. */
import { NodeError } from "../core/errors.ts";
import type { Shell } from "./shell.ts";

/** `action` follows "This would": `remove the model x.gguf`. */
export async function confirm(
  shell: Pick<Shell, "input" | "say">,
  action: string,
): Promise<boolean> {
  if (!shell.input.isTerminal) {
    throw new NodeError(
      "invalid_request",
      `This would ${action}. Nobody is here to ask; say --yes.`,
    );
  }
  shell.say(`${action.charAt(0).toUpperCase()}${action.slice(1)}? [y/N] `);
  return /^y(es)?$/i.test((await shell.input.line()).trim());
}
