import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inThread } from "../../../src/store/thread-calls.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const isNone = (count: number): boolean => count === 0;

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

test("an object that cannot be created says why to each caller, and its thread ends", async () => {
  await using server = inThread({
    target: "qdrant",
    args: [{ url: "nowhere" }],
    called: "Qdrant",
    isStateless: true,
  });
  for (const error of [await rejectionOf(server.list()), await rejectionOf(server.version())]) {
    expect(error).toMatchObject({
      kind: "invalid_request",
      message: expect.stringMatching(/^The address of the Qdrant server is none.*$/),
    });
  }
});

test("a thread that fails shows callers nothing of its source, and the next call starts another", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.sqlite");
  await writeFile(path, "");
  await using documents = inThread({
    target: "documents",
    args: [path],
    called: "Documents",
    file: { path },
  });
  // The answer is the object itself, whose functions cannot be sent.
  expect(await rejectionOf(Reflect.get(documents, "valueOf")())).toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(/^Documents cannot be used: its thread has failed\.$/),
  });
  await waitFor("another thread", () => documents.queued().then(isNone, () => false));
});
