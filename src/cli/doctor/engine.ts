/** Whether llama.cpp loads here, and with how many threads; tried in a process of its own, since it may crash. */
import { resolve } from "node:path";
import { exitOf, lastLine, tailOf } from "../../subprocess/last-output.ts";
import { probeName } from "../probe.ts";
import { type Finding, note, ok, problem } from "./finding.ts";
import type { Installation } from "./installation.ts";

const check = "engine";

export async function checkEngine({ config, baseDir, program }: Installation): Promise<Finding> {
  const { threads, gpu_libraries: folder } = config.engine;
  const accelerator = config.models.some(({ n_gpu_layers: layers }) => layers !== 0);
  const child = Bun.spawn(
    [
      ...program.command,
      probeName,
      "--threads",
      String(threads),
      ...(accelerator ? ["--accelerator"] : []),
      ...(folder === undefined ? [] : ["--gpu-libraries", resolve(baseDir, folder)]),
    ],
    { env: program.env, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [printed, said] = await Promise.all([
    new Response(child.stdout).text(),
    tailOf(child.stderr),
    child.exited,
  ]);
  if (child.signalCode !== null || child.exitCode !== 0) {
    return problem(
      check,
      `llama.cpp does not load: its process ended with ${exitOf(child)}. ${lastLine(said)}`.trim(),
      "Run 'bun install' again, or take the executable for this platform; with GPU libraries, try n_gpu_layers = 0.",
    );
  }
  return judge(JSON.parse(lastLine(printed)), { threads, accelerator });
}

function judge(
  { version, threads, why, ...reasons }: Record<string, unknown>,
  wanted: { threads: number; accelerator: boolean },
): Finding {
  const found = `${version} loads, with ${threads} ${threads === 1 ? "thread" : "threads"} (${why}).`;
  if (wanted.accelerator && String(version).endsWith("cpu)")) {
    const because = Object.entries(reasons).map(
      ([name, reason]) => `${name.replace("_not_used", "")}: ${reason}`,
    );
    return note(
      check,
      `${found} A model asks for layers on a GPU, and none is used (${because.join("; ")}).`,
      "See the page about deploying for GPU libraries, or set n_gpu_layers = 0.",
    );
  }
  if (wanted.threads > Number(threads)) {
    return note(check, found, `Set [engine] threads = ${threads}, or 0 for as many as there are.`);
  }
  return ok(check, found);
}
