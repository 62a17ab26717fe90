import { describe, expect, test } from "bun:test";
import { commandsOf, describedProgram } from "../../scripts/docs/described-program.ts";
import { type PaddockOptions, programUnderTest, runPaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";

async function run(args: readonly string[], options: Partial<PaddockOptions> = {}) {
  await using folder = await tempDir();
  return await runPaddock(args, { cwd: folder.path, ...options });
}

describe("the command line", () => {
  test("prints help when nothing is asked of it", async () => {
    const { code, stdout, stderr } = await run([]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const { command } of commandsOf(describedProgram()).slice(1)) {
      if (command.parent?.parent === null) expect(stdout).toContain(`\n  ${command.name()}`);
    }
    expect(stdout).not.toContain("quantize");
  });

  test.each(commandsOf(describedProgram()))("has help: $words --help", async ({ words }) => {
    const { code, stdout, stderr } = await run([...words.split(" ").slice(1), "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`Usage: ${words} `);
    expect(stdout).toMatch(/\nExamples?:\n/);
  });

  test.each([
    [["sevre"], "unknown command 'sevre'\n(Did you mean serve?)"],
    [["collections", "lst"], "unknown command 'lst'\n(Did you mean list?)"],
    [["serve", "--prot", "1"], "unknown option '--prot'\n(Did you mean --port?)"],
    [["keys", "list", "--jsn"], "unknown option '--jsn'\n(Did you mean --json?)"],
  ])("suggests what may have been meant, and ends with 2: %j", async (args, message) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr).toContain("--help shows what there is");
  });

  test.each([
    [["keys", "list"], 0],
    [["collections", "count", "nothing"], 1],
    [["keys", "revoke", "nobody"], 1],
    [["collections"], 2],
    [["ingest"], 2],
    [["keys", "list", "--port", "many"], 2],
    [["serve", "--config", "gone.toml"], 2],
  ])("ends with the documented code: %j", async (args, expected) => {
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(expected);
    expect(stdout).toBe("");
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("ends quietly when who reads it has enough", async () => {
    // The reader of the pipe is gone before the program begins to write.
    const gone = 'exec 3> >(:); wait $!; "$@" --help >&3; echo $?';
    const child = Bun.spawn(["bash", "-c", gone, "-", ...programUnderTest], {
      // bash warns of a locale that is not installed.
      env: { ...process.env, LC_ALL: "C" },
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await new Response(child.stdout).text()).toBe("141\n");
    expect(await new Response(child.stderr).text()).toBe("");
  });
});
