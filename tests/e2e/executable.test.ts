/** What only the executable does: PADDOCK_TEST_PROGRAM names it. */
import { describe, expect, test } from "bun:test";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runPaddock, servePaddock, testsExecutable } from "../support/paddock-process.ts";
import { noExecutable, skipUnless } from "../support/skip-reason.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyChatConfig, tinyEmbeddingConfig } from "../support/tiny-node.ts";

// From source there is nothing to unpack; CI runs these against the executable that it builds.
describe.skipIf(skipUnless(testsExecutable, noExecutable))("the executable", () => {
  test("writes its libraries once, for its owner alone, and removes another version's", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
    await writeFile(join(folder.path, "a.md"), "llamas hum.");
    const cache = join(folder.path, "cache");
    await mkdir(join(cache, "native-0000000000000000"), { recursive: true });
    const options = { cwd: folder.path, env: { PADDOCK_CACHE_DIR: "cache" } };
    const runs = await Promise.all([1, 2, 3].map(() => runPaddock(["ingest", "a.md"], options)));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    const [name = "", ...others] = await readdir(cache);
    expect(others).toEqual([]);
    expect(name).toMatch(/^native-(?!0{16})[0-9a-f]{16}$/);
    expect((await stat(join(cache, name))).mode & 0o077).toBe(0);
    const library = join(cache, name, "usearch.node");
    const { ino } = await stat(library);
    await runPaddock(["ingest", "a.md"], options);
    expect((await stat(library)).ino).toBe(ino);
    await writeFile(library, "damaged");
    expect((await runPaddock(["ingest", "a.md"], options)).code).toBe(0);
    expect((await stat(library)).size).toBeGreaterThan(100_000);
  });

  test("says plainly that it cannot write them", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
    const env = { PADDOCK_CACHE_DIR: join(folder.path, "paddock.toml", "below") };
    const { code, stderr } = await runPaddock(["serve", "--port", "0"], { cwd: folder.path, env });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/libraries cannot be unpacked into .*below: .*PADDOCK_CACHE_DIR/),
    ]);
  });

  test("reads nothing of its folder but its configuration, and says which backend it loaded", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyChatConfig());
    await writeFile(join(folder.path, ".env"), "PADDOCK_PROT=1\n");
    await writeFile(join(folder.path, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
    await writeFile(join(folder.path, "evil.ts"), "process.exit(99);\n");
    await writeFile(join(folder.path, "package.json"), "not JSON");
    await writeFile(join(folder.path, "tsconfig.json"), "not JSON");
    await using node = await servePaddock({ cwd: folder.path });
    expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
    const line = node
      .stderr()
      .split("\n")
      .find((text) => text.includes("llama.cpp is loaded"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({
      version: expect.stringMatching(/^llama\.cpp v[\d.]+ .*cpu\)$/),
      vulkan_not_used: expect.stringMatching(/no device or driver|its libraries are not installed/),
    });
    expect(node.stderr()).not.toContain("[node-llama-cpp]");
  });
});
