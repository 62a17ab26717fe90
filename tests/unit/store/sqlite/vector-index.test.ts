import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { indexThread } from "../../../../src/store/sqlite/vector-index.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { skipUnless } from "../../../support/skip-reason.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const script = join(import.meta.dir, "..", "..", "..", "support", "index-and-pipe.ts");
const options = { dimension: 2, expansion: 16 };

describe("an index in its thread", () => {
  test.skipIf(skipUnless(process.platform !== "win32", "Windows has no named pipes in folders"))(
    "leaves the loop free for as long as usearch saves and loads",
    async () => {
      await using folder = await tempDir();
      const pipe = join(folder.path, "pipe");
      expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
      await using child = Bun.spawn([process.execPath, script, pipe], {
        stdout: "pipe",
        stderr: "inherit",
      });
      let saved: Buffer = Buffer.alloc(0);
      let said = "";
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        said += text;
        if (said.endsWith("saving\n")) saved = await readFile(pipe);
        if (said.endsWith("loading\n")) await writeFile(pipe, saved);
      }
      expect(said.trim().split("\n")).toEqual([
        "saving",
        "loading",
        '{"keys":[8,3],"lastKey":8}',
        "closed",
      ]);
      expect(await child.exited).toBe(0);
    },
  );

  test("does what it is asked in the order in which it is asked", async () => {
    const index = indexThread(options);
    const done = await Promise.all([
      index.add(BigUint64Array.of(1n, 2n), Float32Array.of(1, 0, 0, 1)),
      index.search(Float32Array.of(1, 0), 5),
      index.remove(BigUint64Array.of(1n, 77n)),
      index.search(Float32Array.of(1, 0), 5),
      index.add(BigUint64Array.of(5n), Float32Array.of(1, 0)),
      index.search(Float32Array.of(1, 0), 5),
      index[Symbol.asyncDispose](),
    ]);
    expect(done).toEqual([
      undefined,
      { keys: [1, 2], lastKey: 2 },
      undefined,
      { keys: [2], lastKey: 2 },
      undefined,
      { keys: [5, 2], lastKey: 5 },
      undefined,
    ]);
  });

  test("stays what it was where something fails", async () => {
    const index = indexThread(options);
    await index.add(BigUint64Array.of(1n), Float32Array.of(1, 0));
    const twice = index.add(BigUint64Array.of(1n), Float32Array.of(0, 1));
    expect(String(await rejectionOf(twice))).toContain("Duplicate");
    await rejectionOf(index.save("/nowhere/at/all"));
    expect(await index.search(Float32Array.of(1, 0), 5)).toMatchObject({
      keys: [1],
      lastKey: 1,
    });
    await index[Symbol.asyncDispose]();
  });

  test("refuses what it is asked once its thread has ended", async () => {
    const impossible = indexThread({ dimension: 0, expansion: 16 });
    const search = impossible.search(Float32Array.of(1, 0), 5);
    expect(String(await rejectionOf(search))).toContain("dimensions");
    await rejectionOf(impossible.search(Float32Array.of(1, 0), 5));
    await impossible[Symbol.asyncDispose]();
    const closed = indexThread(options);
    await closed[Symbol.asyncDispose]();
    expect(String(await rejectionOf(closed.save("anywhere")))).toContain("has ended");
    await closed[Symbol.asyncDispose]();
  });
});
