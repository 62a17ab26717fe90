/** curl, which is one command: what the page has is all that it is asked with. */
import type { Client, Workplace } from "./client.ts";
import { type Ran, run } from "./command.ts";
import { snippet } from "./page.ts";

const ask = async ({ folder, page, own, env }: Workplace): Promise<Ran> =>
  await run(["bash", "-c", snippet(page, "curl", "sh", own)], { cwd: folder, env });

export const commandClients: readonly Client[] = [
  {
    name: "curl",
    packages: [],
    // It asks for a whole answer, and calls no tools.
    known: { streamed: "–", abort: "–", tool: "–" },
    lines: ask,
    ask: (place) => ask(place),
  },
];
