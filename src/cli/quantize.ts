/** `paddock quantize`: what quantizes weights in a process of its own; not for people. */
import { constants, setPriority } from "node:os";
import { Command } from "commander";
import { quantizations } from "../core/models/model-files.ts";
import { quantize } from "../engine/quantization/quantizer.ts";
import { endWithParentProcess } from "../subprocess/parent-death.ts";

export function quantizeCommand(): Command {
  return new Command("quantize")
    .argument("<input>")
    .argument("<output>")
    .argument("<type>")
    .argument("<threads>")
    .option("--low-priority")
    .action(
      async (input: string, output: string, name: string, threads: string, { lowPriority }) => {
        // It goes on for minutes in native code, where it hears of nobody's end.
        endWithParentProcess();
        // Before the quantiser starts its threads, which have the priority of who started them.
        if (lowPriority === true) setPriority(constants.priority.PRIORITY_LOW);
        // One that pauses would not notice that its node has ended.
        endWithParentProcess();
        const type = quantizations.find((known) => known === name);
        if (type === undefined)
          throw new Error(`'${name}' is not one of ${quantizations.join(", ")}`);
        await quantize(input, output, { type, threads: Number(threads) });
      },
    );
}
