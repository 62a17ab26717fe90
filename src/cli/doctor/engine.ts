/** Whether llama.cpp loads here, and with how many threads; tried in a process of its own, since it may crash. */
import { exitOf, lastLine, tailOf } from "../../subprocess/last-output.ts";
import { probeName } from "../probe.ts";
import { type Finding, note, ok, problem } from "./finding.ts";
import type { Installation } from "./installation.ts";

const check = "engine";

export async function checkEngine({ config, program }: Installation): Promise<Finding> {
  const { threads } = config.engine;
  const child = Bun.spawn([...program.command, probeName, "--threads", String(threads)], {
    env: program.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [printed, said] = await Promise.all([
    new Response(child.stdout).text(),
    tailOf(child.stderr),
    child.exited,
  ]);
  if (child.signalCode !== null || child.exitCode !== 0) {
    return problem(
      check,
      `llama.cpp does not load: its process ended with ${exitOf(child)}. ${lastLine(said)}`.trim(),
      "Run 'bun install' again, or take the executable for this platform.",
    );
  }
  return judge(JSON.parse(lastLine(printed)), threads);
}

function judge({ version, threads, why }: Record<string, unknown>, wanted: number): Finding {
  const found = `${version} loads, with ${threads} ${threads === 1 ? "thread" : "threads"} (${why}).`;
  if (wanted > Number(threads)) {
    return note(check, found, `Set [engine] threads = ${threads}, or 0 for as many as there are.`);
  }
  return ok(check, found);
}
