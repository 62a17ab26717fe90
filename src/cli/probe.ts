/** `paddock probe`: loads llama.cpp and prints how that went, in a process that may crash; not for people. */
import { Command } from "commander";
import { given } from "../core/given.ts";
import type { LogFields } from "../core/log.ts";
import type { Shell } from "./shell.ts";

interface ProbeFlags {
  threads: string;
  accelerator?: boolean;
  gpuLibraries?: string;
}

/** The hidden command's name; see doctor/engine.ts. */
export const probeName = "probe";

export function probeCommand(shell: Shell): Command {
  const command = new Command(probeName)
    .requiredOption("--threads <number>")
    .option("--accelerator")
    .option("--gpu-libraries <folder>");
  return command.action(async () => {
    const { threads, accelerator = false, gpuLibraries } = command.opts<ProbeFlags>();
    const said: LogFields[] = [];
    const ignore = (): void => {};
    const hear = (_: string, fields: LogFields = {}): void => void said.push(fields);
    const { openBackend } = await import("../engine/backend.ts");
    await using backend = await openBackend({
      threads: Number(threads),
      accelerator,
      ...given({ gpuLibraries }),
      log: { debug: ignore, info: hear, warn: ignore, error: ignore },
    });
    shell.print(`${JSON.stringify({ version: backend.version, ...said[0] })}\n`);
  });
}
