/** `paddock ps`: the models that a running node has in memory. */
import { Command } from "commander";
import type { Model } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { dataDirOf } from "../../node/node-settings.ts";
import { addConfigOptions, addExamples, readConfig } from "../command-options.ts";
import { printedJson, toTable } from "../printing.ts";
import { findRunningNode, noNode, serverAt } from "../remote-server.ts";
import type { Shell } from "../shell.ts";

export function psCommand(shell: Shell): Command {
  const command = new Command("ps")
    .description("list the models that a running node has in memory")
    .option("--url <address>", "the node; its key is PADDOCK_KEY's. Default: that of the data dir")
    .option("--json", "as JSON");
  addConfigOptions(command);
  addExamples(command, "paddock ps", "paddock ps --url http://127.0.0.1:8080 --json");
  return command.action(async () => {
    const { url } = command.opts<{ url?: string }>();
    const config = await readConfig(shell, command);
    const node = url === undefined ? await findRunningNode(shell, config) : serverAt(shell, url);
    if (node === undefined) throw noNode(dataDirOf(config, shell.cwd));
    const { data, memory } = await node.server.models(shell.stopped);
    const running = data.filter(({ loaded, loading }) => loaded || loading === true);
    if (printedJson(shell, command, running)) return;
    shell.print(toTable(running.map((model) => toCells(model, Date.now() / 1000))));
    if (running.length === 0) shell.say("No model is in memory; the next request loads one.\n");
    if (memory === undefined) return;
    const { total, free } = memory;
    shell.say(`Memory: ${byteSize(total)}, ${byteSize(free)} free.\n`);
  });
}

function toCells(model: Model, now: number) {
  const { id, type, loading, memory_bytes: bytes, context_length: context } = model;
  const { last_used: lastUsed, unloads_at: unloadsAt } = model;
  return {
    name: id,
    type,
    state: loading === true ? "loading" : "loaded",
    memory: bytes === undefined ? "" : byteSize(bytes),
    context: String(context),
    idle: lastUsed === undefined ? "" : duration(now - lastUsed),
    "unloaded in": unloadsAt === undefined ? "" : duration(unloadsAt - now),
  };
}

/** `45 s`, `12 min`, `3 h` */
function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  return whole < 7200 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3600)} h`;
}
