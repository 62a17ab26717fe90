import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPaddock } from "../support/paddock-process.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

let folder: TempDir;

beforeAll(async () => {
  folder = await tempDir();
  const { chat, embedding } = await tinyModels();
  const models = [
    ["far", "chat", "openai:http://127.0.0.1:9/v1"],
    ["vectors", "embedding", embedding],
    ["mine", "chat", chat],
  ];
  const sections = models.map(
    ([name, type, source]) =>
      `[[models]]\nname = "${name}"\ntype = "${type}"\nsource = ${JSON.stringify(source)}\n`,
  );
  const sizes = "ctx_size = 256\nparallel = 2\n";
  await writeFile(join(folder.path, "paddock.toml"), `${sections.join("")}${sizes}`);
});
afterAll(() => folder[Symbol.asyncDispose]());

const bench = (...args: string[]) =>
  runPaddock(["bench", "--runs", "1", "--answer-tokens", "8", ...args], { cwd: folder.path });

describe("paddock bench", () => {
  test("measures a configured model with 1, 4 and 16 callers, as JSON", async () => {
    const { code, stdout } = await bench("mine", "--json");
    expect(code).toBe(0);
    const { rows, ...about } = JSON.parse(stdout);
    expect(about).toEqual({
      model: "mine",
      engine: expect.stringContaining("llama.cpp"),
      threads: expect.any(Number),
      parallel: 2,
      ctx_size: 256,
    });
    expect(rows.map(({ callers }: { callers: number }) => callers)).toEqual([1, 4, 16]);
    for (const row of rows) {
      // A prompt fills the context but for a token.
      expect(row.prompt_tokens).toBe(255);
      expect(row.prompt_tokens_per_second).toBeGreaterThan(0);
      expect(row.answer_tokens).toBeWithin(1, 9);
      expect(row.answer_tokens_per_second).toBeGreaterThan(0);
    }
  });

  test("measures a file that is not configured, as a table", async () => {
    const { chat } = await tinyModels();
    const { code, stdout, stderr } = await bench(chat, "--prompt-tokens", "32");
    expect(code).toBe(0);
    const [head, ...rows] = stdout.trim().split("\n");
    expect(head?.split(/ {2,}/)).toEqual([
      ...["CALLERS", "PROMPT TOK/S", "ANSWER TOK/S", "ANSWER TOK/S EACH"],
    ]);
    expect(rows.map((row) => row.trim().split(/ +/)[0])).toEqual(["1", "4", "16"]);
    expect(stderr).toContain("4 answers at once");
  });

  test.each([
    [[], "The model 'far' runs on another server, not on this machine."],
    [["vectors"], "The model 'vectors' is not for chat; only chat models are measured."],
    [["gone.gguf"], "'gone.gguf' does not exist"],
    [["mine", "--runs", "0"], "It must be a whole number above 0."],
  ])("says what it cannot measure: %p", async (args, message) => {
    const { code, stderr } = await bench(...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
