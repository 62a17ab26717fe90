import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installed } from "../support/installed-program.ts";
import { runPaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";

/** Runs a program of the shell with the completions' script as `$1`; what it prints, line by line. */
async function complete(
  shell: string,
  program: string,
  args: readonly string[],
): Promise<string[]> {
  await using folder = await tempDir();
  const { code, stdout } = await runPaddock(["completions", shell], { cwd: folder.path });
  expect(code).toBe(0);
  const script = join(folder.path, "script");
  await writeFile(script, stdout);
  const child = Bun.spawn(
    [
      shell,
      ...(flags[shell] ?? []),
      "-c",
      program,
      ...(shell === "fish" ? [] : ["-"]),
      script,
      ...args,
    ],
    {
      stdout: "pipe",
      stderr: "pipe",
      env: {
        PATH: process.env.PATH ?? "",
        LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH ?? "",
        HOME: folder.path,
      },
    },
  );
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([await child.exited, err]).toEqual([0, ""]);
  return out
    .split("\n")
    .filter((line) => line !== "")
    .sort();
}

const flags: Record<string, readonly string[]> = {
  bash: ["--norc"],
  zsh: ["-f"],
  fish: ["--no-config"],
};

/** Each takes the words as they are typed, the last one unfinished. */
const programs: Record<string, string> = {
  bash: `source "$1"; shift; COMP_WORDS=(paddock "$@"); COMP_CWORD=$#; _paddock; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The functions of zsh's own completion system, each printing what it is given.
  zsh: `compdef() { :; }
    _describe() { local name=\${@[-1]}; for entry in "\${(@P)name}"; do name=\${entry%%:*}; [[ $name == $PREFIX* ]] && print -r -- $name; done; return 0; }
    compadd() { shift; for name in "$@"; do [[ $name == $PREFIX* ]] && print -r -- $name; done; return 0; }
    _files() { :; }
    source "$1"; shift; words=(paddock "$@"); CURRENT=$#words; PREFIX=\${words[CURRENT]}; _paddock`,
  fish: `source $argv[1]; complete -C "paddock $argv[2..-1]" | string replace -r '\\t.*' ''; true`,
};

const top = ["collections", "completions"];

describe.each(Object.entries(programs))("completions for %s", (shell, program) => {
  test.skipIf(installed(shell) === undefined).each([
    [["co"], top],
    [
      ["collections", "c"],
      ["copy", "count"],
    ],
    [["collections", "list", "--js"], ["--json"]],
    [
      ["serve", "--log-level", ""],
      ["debug", "error", "info", "warn"],
    ],
    [["keys", "create", "ada", "--scope", "e"], ["embeddings"]],
    [
      ["completions", ""],
      ["bash", "fish", "zsh"],
    ],
    [["quant"], []],
  ])("of paddock %j", async (words, expected) => {
    expect(await complete(shell, program, words)).toEqual(expected);
  });
});
