/** The agents that people run: each with the settings and the command of docs/clients.md. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Client, repeated, type Workplace } from "./client.ts";
import { type CommandOptions, type Ran, run } from "./command.ts";
import { snippet } from "./page.ts";

interface Agent {
  name: string;
  packages: readonly string[];
  program: string;
  /** Its file of settings, in the home folder, and the language that the page has it in. */
  settings?: { path: string; language: string };
  /** What its sandbox, or the lack of one, needs here besides the page's command. */
  more?: string;
  known?: Client["known"];
}

const agents: readonly Agent[] = [
  {
    name: "Codex",
    packages: ["@openai/codex@0.166.0"],
    program: "codex",
    settings: { path: ".codex/config.toml", language: "toml" },
    // A container cannot nest the sandbox that it would make.
    more: "--sandbox danger-full-access",
  },
  { name: "Claude Code", packages: ["@anthropic-ai/claude-code@2.1.325"], program: "claude" },
  {
    name: "opencode",
    packages: ["opencode-ai@1.18.33"],
    program: "opencode",
    settings: { path: "opencode.json", language: "json" },
    known: { model: repeated },
  },
  {
    name: "pi",
    packages: ["@mariozechner/pi-coding-agent@0.73.1"],
    program: "pi",
    settings: { path: ".pi/agent/models.json", language: "json" },
  },
];

const question = "Which word is in note.txt?";

export const agentClients: readonly Client[] = agents.map((agent) => {
  const ask = async (
    place: Workplace,
    asked: string,
    stop?: CommandOptions["stop"],
  ): Promise<Ran> => {
    const { folder, cwd, page, own, env } = place;
    await writeFile(join(cwd, "note.txt"), "The word is marmalade.\n");
    if (agent.settings !== undefined) {
      const file = join(cwd, agent.settings.path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, snippet(page, agent.name, agent.settings.language, own));
    }
    const lines = snippet(page, agent.name, "sh", own).trim();
    // The program itself, so that whoever ends the shell ends it.
    const command = lines
      .replace(question, asked)
      .replace(new RegExp(`(^|\\s)${agent.program} `), `$1exec ${agent.program} `)
      .replace(/^(\S+=\S+) exec /, "exec env $1 ");
    const path = `${join(folder, "node_modules", ".bin")}:${env.PATH ?? ""}`;
    return await run(["bash", "-c", agent.more ? `${command} ${agent.more}` : command], {
      cwd,
      env: { ...env, PATH: path, HOME: cwd },
      ...(stop === undefined ? {} : { stop }),
    });
  };
  return {
    name: agent.name,
    packages: agent.packages,
    known: agent.known ?? {},
    lines: (place) => ask(place, question),
    ask: (place, _trial, asked, stop) => ask(place, asked, stop),
  };
});
