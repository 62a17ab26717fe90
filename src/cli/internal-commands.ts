/** Hidden commands that the program runs in separate processes, since they may crash. */
import { constants, setPriority } from "node:os";
import { Command } from "commander";
import type { LogFields } from "../core/log.ts";
import { quantizations } from "../core/models/model-files.ts";
import { quantize } from "../engine/quantization/quantizer.ts";
import { endWithParentProcess } from "../subprocess/program.ts";
import type { Shell } from "./shell.ts";

/** The hidden command's name; see doctor/machine.ts. */
export const probeName = "probe";

export function probeCommand(shell: Shell): Command {
  const command = new Command(probeName).requiredOption("--threads <number>");
  return command.action(async () => {
    const { threads } = command.opts<{ threads: string }>();
    const said: LogFields[] = [];
    const ignore = (): void => {};
    const hear = (_: string, fields: LogFields = {}): void => void said.push(fields);
    const { openBackend } = await import("../engine/load-backend.ts");
    await using backend = await openBackend({
      threads: Number(threads),
      backend: "cpu",
      log: { debug: ignore, info: hear, warn: ignore, error: ignore },
    });
    shell.print(`${JSON.stringify({ version: backend.version, ...said[0] })}\n`);
  });
}

/** `paddock quantize`: converts the weights of a model. */
export function quantizeCommand(shell: Shell): Command {
  return new Command("quantize")
    .argument("<input>")
    .argument("<output>")
    .argument("<type>")
    .argument("<threads>")
    .option("--low-priority")
    .action(
      async (input: string, output: string, name: string, threads: string, { lowPriority }) => {
        // Native code runs for minutes, and would not notice that the parent has ended.
        endWithParentProcess();
        shell.print("begun\n");
        // Before the quantizer starts its threads, which inherit the priority.
        if (lowPriority === true) setPriority(constants.priority.PRIORITY_LOW);
        const type = quantizations.find((known) => known === name);
        if (type === undefined)
          throw new Error(`'${name}' is not one of ${quantizations.join(", ")}`);
        await quantize(input, output, { type, threads: Number(threads) });
      },
    );
}
