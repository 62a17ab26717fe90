/** `paddock system-info`: prints what llama.cpp says of the CPU library that it loads here, in a process that may crash; not for people. */
import { Command } from "commander";
import { systemInfoCommand } from "../engine/quantization/starter-quantization.ts";
import type { Shell } from "./shell.ts";

export function createSystemInfoCommand(shell: Shell): Command {
  return new Command(systemInfoCommand).action(async () => {
    const { readSystemInfo } = await import("../engine/backend.ts");
    shell.print(`${await readSystemInfo()}\n`);
  });
}
