/** `paddock probe`: loads llama.cpp for the CPU and prints how that went, in a process that may crash; not for people. */
import { Command } from "commander";
import type { LogFields } from "../core/log.ts";
import type { Shell } from "./shell.ts";

/** The hidden command's name; see doctor/engine.ts. */
export const probeName = "probe";

export function probeCommand(shell: Shell): Command {
  const command = new Command(probeName).requiredOption("--threads <number>");
  return command.action(async () => {
    const { threads } = command.opts<{ threads: string }>();
    const said: LogFields[] = [];
    const ignore = (): void => {};
    const hear = (_: string, fields: LogFields = {}): void => void said.push(fields);
    const { openBackend } = await import("../engine/backend.ts");
    await using backend = await openBackend({
      threads: Number(threads),
      backend: "cpu",
      log: { debug: ignore, info: hear, warn: ignore, error: ignore },
    });
    shell.print(`${JSON.stringify({ version: backend.version, ...said[0] })}\n`);
  });
}
