import { describe, expect, test } from "bun:test";
import { confirm } from "../../../src/cli/confirm.ts";
import type { Shell } from "../../../src/cli/shell.ts";

/** A person at a terminal who types one line. */
function person(line: string): { shell: Pick<Shell, "input" | "say">; said: string[] } {
  const said: string[] = [];
  const input = {
    isTerminal: true,
    stream: async function* () {},
    line: async () => line,
    terminal: () => ({ input: process.stdin, output: process.stdout }),
  };
  return { said, shell: { input, say: (text) => said.push(text) } };
}

describe("before something is removed", () => {
  test.each([
    ["y", true],
    ["Yes ", true],
    ["", false],
    ["n", false],
    ["yesterday", false],
  ])("a person is asked, and %p means %p", async (line, isMeant) => {
    const { shell, said } = person(line);
    expect(await confirm(shell, "remove the model m.gguf")).toBe(isMeant);
    expect(said).toEqual(["Remove the model m.gguf? [y/N] "]);
  });

  test("a script must say so beforehand", async () => {
    const { shell } = person("y");
    const away = { ...shell, input: { ...shell.input, isTerminal: false } };
    await expect(confirm(away, "remove the model m.gguf")).rejects.toThrow(
      "This would remove the model m.gguf. Nobody is here to ask; say --yes.",
    );
  });
});
