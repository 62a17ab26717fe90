import { expect, test } from "bun:test";
import { join } from "node:path";
import { tempDir } from "../../support/temp-dir.ts";

test("a thread that is needed while no more files may be opened fails, and starts later", async () => {
  await using folder = await tempDir();
  const program = join(import.meta.dir, "..", "..", "support", "no-more-files.ts");
  const { stdout, exitCode } = Bun.spawnSync([
    ...["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"],
    ...[process.execPath, program, folder.path],
  ]);
  expect(stdout.toString()).toMatch(/^Collections cannot be used: EMFILE.*\n\[\]\n$/);
  expect(exitCode).toBe(0);
});
