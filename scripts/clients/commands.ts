/** Clients that are one command: what the page has is all that they can be asked with. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client, Trial, Workplace } from "./client.ts";
import { type Ran, run } from "./command.ts";
import { snippet } from "./page.ts";

interface Command {
  name: string;
  packages: readonly string[];
  settings?: string;
  env?: Record<string, string>;
}

/** They ask for whole answers, and call no tools. */
const known: Readonly<Partial<Record<Trial, string>>> = { streamed: "–", abort: "–", tool: "–" };

const commands: readonly Command[] = [
  {
    name: "promptfoo",
    packages: ["promptfoo@0.123.1"],
    settings: "promptfooconfig.yaml",
    env: { PROMPTFOO_DISABLE_TELEMETRY: "1", PROMPTFOO_DISABLE_UPDATE: "1" },
  },
  { name: "curl", packages: [] },
];

export const commandClients: readonly Client[] = commands.map(
  ({ name, packages, settings, env: more = {} }) => {
    const ask = async ({ folder, page, own, env }: Workplace): Promise<Ran> => {
      if (settings !== undefined) {
        await writeFile(join(folder, settings), snippet(page, name, "yaml", own));
      }
      const line = snippet(page, name, "sh", own);
      return await run(["bash", "-c", line], { cwd: folder, env: { ...env, ...more } });
    };
    return { name, packages, known, lines: ask, ask: (place) => ask(place) };
  },
);
