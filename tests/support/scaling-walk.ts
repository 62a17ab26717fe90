/** The walk of docs/scaling.md from one node to two: its files and commands, for a shell of the tests' own. */
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { freePort } from "./free-port.ts";
import { environmentIn, programUnderTest } from "./paddock-process.ts";
import { qdrantProgramIn } from "./qdrant-server.ts";
import { type ShellSession, shellSession } from "./shell-session.ts";
import { tempDir } from "./temp-dir.ts";
import { tinyModels } from "./tiny-models.ts";

export interface ScalingWalk extends AsyncDisposable {
  shell: ShellSession;
  /** Writes the step's files, and runs its blocks of commands; default: all of them. */
  take(step: number, blocks?: { from: number; to: number }): Promise<void>;
  /** The address that stands on the page with this port. */
  origin(port: number): string;
  /** What a command has written into a file. */
  read(file: string): Promise<string>;
}

const page = join(import.meta.dir, "..", "..", "docs", "scaling.md");
const ports = [8080, 8081, 8082, 8091, 8092, 8093, 6333, 6334, 6379];

/** Of the page only ports and the sources of models are not the reader's. */
export async function scalingWalk(): Promise<ScalingWalk> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  const own = new Map<number, number>();
  for (const port of ports) own.set(port, await freePort());
  const { chat, embedding } = await tinyModels();
  const adapted = (text: string): string =>
    text
      // All at once: a free port may hold the digits of another.
      .replaceAll(new RegExp(ports.join("|"), "g"), (port) => String(own.get(Number(port))))
      .replaceAll("starter:chat", chat)
      .replaceAll("starter:embedding", embedding);
  const steps = await readSteps();
  const env = environmentIn(folder.path);
  const programs = await programsIn(join(folder.path, "bin"));
  const shell = resources.use(
    shellSession({
      cwd: folder.path,
      env: { ...env, PATH: [programs, env.PATH, "/usr/sbin"].join(delimiter) },
    }),
  );
  const owned = resources.move();
  return {
    shell,
    async take(number, { from, to } = { from: 0, to: Number.POSITIVE_INFINITY }) {
      const step = steps[number - 1];
      if (step === undefined) throw new Error(`The page has no step ${number}`);
      for (const { name, text } of step.files) {
        await writeFile(join(folder.path, name), adapted(text));
      }
      for (const commands of step.commands.slice(from, to)) await shell.run(adapted(commands));
    },
    origin: (port) => `http://127.0.0.1:${own.get(port)}`,
    read: async (file) => (await Bun.file(join(folder.path, file)).text()).trim(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Step {
  files: { name: string; text: string }[];
  commands: string[];
}

/** A step begins with its number in bold; a block of a file with the file's name in a comment. */
async function readSteps(): Promise<Step[]> {
  const [, section = ""] = (await Bun.file(page).text()).split("step by step\n");
  const [walk = ""] = section.split(/^### /m);
  const steps = walk.split(/^\*\*\d\. /m).slice(1);
  return steps.map((text) => {
    const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)];
    return {
      files: blocks.flatMap(([, language, code = ""]) => {
        const [, name] = /^# (\S+)\n/.exec(code) ?? [];
        return language === "sh" || name === undefined ? [] : [{ name, text: code }];
      }),
      commands: blocks.flatMap(([, language, code = ""]) => (language === "sh" ? [code] : [])),
    };
  });
}

/** The program under test and the Qdrant server, by the names that the page calls them. */
async function programsIn(folder: string): Promise<string> {
  await mkdir(folder);
  const command = programUnderTest.map((part) => `'${part}'`).join(" ");
  await writeFile(join(folder, "paddock"), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  await qdrantProgramIn(folder);
  return folder;
}
