/**
 * `bun run test:clients`: installs clients that people use into a temporary folder, runs them against a
 * node, and writes the table of docs/clients.md. `--only NAME` tries one and writes nothing;
 * `--transcripts DIR` says where to put what was said.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isEventStream } from "../src/server/event-format.ts";
import { agentModel, agentNode } from "../tests/support/agent-node.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { agentClients } from "./clients/agents.ts";
import type { Client } from "./clients/client.ts";
import { run } from "./clients/command.ts";
import { commandClients } from "./clients/commands.ts";
import { libraryClients } from "./clients/libraries.ts";
import { pageFile } from "./clients/page.ts";
import { isFine, type Seen, tryClient } from "./clients/try-client.ts";
import { toMarkdownTable } from "./docs/markdown-table.ts";
import { withParts } from "./docs/marked-parts.ts";

const columns = [
  ...["Client", "Version", "These lines", "Question", "Streamed", "Tool"],
  ...["Leaves", "Wrong key", "Unknown model", "Too long"],
];

/** How the model calls the tool of each client to read the note. */
const calls = {
  exec_command: { cmd: "cat note.txt" },
  Bash: { command: "cat note.txt", description: "Read the note" },
  bash: { command: "cat note.txt", description: "Read the note" },
  read_note: { path: "note.txt" },
};

const key = "a-good-key-of-the-node";
const { values } = parseArgs({
  options: { only: { type: "string" }, transcripts: { type: "string" } },
});
const all: readonly Client[] = [...agentClients, ...libraryClients, ...commandClients];
const chosen = all.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) {
  console.error(
    `There is no client '${values.only}'. There are: ${all.map(({ name }) => name).join(", ")}.`,
  );
  process.exit(2);
}

await using folder = await tempDir();
await using node = await agentNode(calls, { env: { PADDOCK_API_KEYS: key } });
const seen: Seen[] = [];
await using server = listen();
const transcripts = values.transcripts ?? join(folder.path, "transcripts");
const page = await Bun.file(pageFile).text();
const rows: string[][] = [];
for (const client of chosen) {
  console.log(client.name);
  const cells = (await install(client))
    ? await tryClient(client, placeOf(client), { node, seen, transcripts, wrongKey: "a-wrong-key" })
    : Array<string>(columns.length - 2).fill("not installed");
  rows.push([client.name, versionOf(client), ...cells]);
}
const table = toMarkdownTable(columns, rows);
console.log(table);
if (values.only === undefined) await writeFile(pageFile, withParts(page, { clients: table }));
if (!rows.every(([, , ...cells]) => cells.every(isFine))) process.exitCode = 1;

/** The node, with a note of what it is asked. */
function listen() {
  const bun = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const body = request.method === "POST" ? await request.clone().text() : "";
      const response = await node.app.handle(request);
      const isStream = isEventStream(response);
      const { pathname: path } = new URL(request.url);
      seen.push({
        path: `${request.method} ${path} ${body.length}`,
        status: response.status,
        isStream,
      });
      return response;
    },
  });
  return { origin: bun.url.origin, [Symbol.asyncDispose]: () => bun.stop(true) };
}

function folderOf({ name }: Client): string {
  return join(folder.path, name.replaceAll(" ", "-"));
}

function placeOf(client: Client) {
  const at = folderOf(client);
  const own = { origin: server.origin, model: agentModel, key };
  return { folder: at, cwd: join(at, "home"), page, own, env: environment() };
}

/** Nothing of whoever runs this reaches a client, but for where programs are. */
function environment(): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME };
}

async function install(client: Client): Promise<boolean> {
  const cwd = folderOf(client);
  await mkdir(cwd, { recursive: true });
  const dependencies = Object.fromEntries(client.packages.map(nameAndVersion));
  await writeFile(
    join(cwd, "package.json"),
    JSON.stringify({ private: true, type: "module", dependencies }),
  );
  if (client.packages.length === 0) return true;
  const { code, output } = await run([process.execPath, "install"], {
    cwd,
    // Some of them are hundreds of megabytes.
    mostMs: 900_000,
    env: Object.fromEntries(
      Object.entries(process.env).map(([name, value]) => [name, value ?? ""]),
    ),
  });
  if (code !== 0) console.error(output);
  return code === 0;
}

/** `@scope/name@1.2.3`. */
function nameAndVersion(spec: string): [string, string] {
  const at = spec.lastIndexOf("@");
  return [spec.slice(0, at), spec.slice(at + 1)];
}

function versionOf({ packages: [first] }: Client): string {
  if (first === undefined) return "the machine's";
  const [name, version] = nameAndVersion(first);
  return `\`${name}\` ${version}`;
}
