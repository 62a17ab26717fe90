/** Says what a weak model cannot do, and how to get a better one that fits the machine's memory. */
import { byteSize } from "../core/byte-size.ts";
import type { Machine } from "../engine/machine/machine.ts";
import type { Program } from "../subprocess/program.ts";

/** Under free licences, with a context of 4096 tokens for each of four answers; the best first. */
const betterModels = [
  { needs: 12e9, source: "hf:bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M" },
  { needs: 4e9, source: "hf:bartowski/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M" },
] as const;

/** One line about the starter chat model; without a command where the machine holds no better one. */
export function betterModel(
  { memory }: Pick<Machine, "memory">,
  { command }: Pick<Program, "command">,
): string {
  const weak = "The starter model is small: it is often wrong, and forgets what was asked.";
  const better = betterModels.find(({ needs }) => memory >= needs);
  if (better === undefined) return weak;
  // The executable is one word; from the sources it is Bun that runs it.
  const program = command.length === 1 ? "paddock" : "bun paddock";
  return `${weak} A better one for this machine's ${byteSize(memory)} of memory: ${program} pull ${better.source}`;
}
