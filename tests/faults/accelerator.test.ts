/** An accelerator whose library does not suit the machine, as the whole program meets it. */
import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { canLookLikeCuda, cudaMachine } from "../support/cuda-machine.ts";
import { findProgram, installed } from "../support/installed-program.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyConfig } from "../support/tiny-node.ts";

const compiler = findProgram("cc") ?? installed("gcc");

/** A library that ends the process which loads it, as llama.cpp does on an assertion that fails. */
async function aborting(path: string): Promise<void> {
  const source = `${path}.c`;
  await writeFile(
    source,
    "#include <stdlib.h>\n__attribute__((constructor)) static void fail(void) { abort(); }\n",
  );
  await Bun.spawn([compiler ?? "cc", "-shared", "-fPIC", "-o", path, source]).exited;
}

/** One that wants a library which is not installed, as CUDA's do where there is only a driver. */
async function wanting(path: string): Promise<void> {
  await using folder = await tempDir();
  const needed = join(folder.path, "libcudart-of-nobody.so.13");
  const build = (...args: string[]) =>
    Bun.spawn([compiler ?? "cc", "-shared", "-fPIC", "-x", "c", "/dev/null", ...args]).exited;
  await build("-o", needed, "-Wl,-soname,libcudart-of-nobody.so.13");
  await build("-o", path, "-Wl,--no-as-needed", "-x", "none", needed);
}

interface Case {
  isPossible: boolean;
  makeLibrary: (path: string) => Promise<unknown>;
  reason: string;
  advice: string;
}

const libraries: Record<string, Case> = {
  "is no library": {
    isPossible: true,
    makeLibrary: (path) => writeFile(path, "not a library"),
    reason: "its library does not load",
    advice: "cuda-libraries",
  },
  "ends the process that loads it": {
    isPossible: compiler !== undefined,
    makeLibrary: aborting,
    reason: "it crashed while its library was loaded",
    advice: "update the driver",
  },
  "wants another that is not installed": {
    isPossible: compiler !== undefined,
    makeLibrary: wanting,
    reason: "its library needs libcudart-of-nobody.so.13, which is not installed",
    advice: "cuda-libraries",
  },
};

const tried = "a backend does not work";

for (const [what, { isPossible, makeLibrary, reason, advice }] of Object.entries(libraries)) {
  describe.skipIf(!canLookLikeCuda || !isPossible)(`a CUDA library that ${what}`, () => {
    test("costs one try: the CPU answers, it is said why, and the next start does not try again", async () => {
      await using folder = await tempDir();
      const config = await tinyConfig();
      await writeFile(join(folder.path, "paddock.toml"), config);
      await writeFile(join(folder.path, "llamas.md"), "Llamas hum.");
      const options = { cwd: folder.path, env: await cudaMachine(folder.path, makeLibrary) };
      const info = async (origin: string) =>
        await (await fetch(`${origin}/v1/info`, { method: "POST" })).json();
      {
        await using node = await servePaddock(options);
        expect((await fetch(`${node.origin}/ready`)).status).toBe(200);
        expect(await info(node.origin)).toMatchObject({
          plugin_version: expect.stringMatching(new RegExp(`, cpu\\), not cuda: ${reason}$`)),
          models: [{ n_gpu_layers: 0 }, { n_gpu_layers: 0 }],
        });
        // It is the library that fails, so the second model does not try it.
        expect(node.stderr().split(tried)).toHaveLength(2);
        const answer = await fetch(`${node.origin}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "tiny-chat", messages: [{ role: "user", content: "a" }] }),
        });
        expect(answer.status).toBe(200);
      }
      const ingested = await runPaddock(["ingest", "llamas.md", "--isolation", "none"], options);
      expect([ingested.code, ingested.stdout]).toEqual([0, expect.stringContaining("1 ")]);
      // What is known of the library is seen with one model as with two.
      const chatOnly = config.slice(0, config.lastIndexOf("[[models]]"));
      await writeFile(join(folder.path, "paddock.toml"), chatOnly);
      {
        await using node = await servePaddock(options);
        expect(node.stderr()).not.toContain(tried);
        expect(node.stderr()).toMatch(/"tried_on":"[\d-]+",.*"msg":"an accelerator is not used"/);
        expect(await info(node.origin)).toMatchObject({
          plugin_version: expect.stringMatching(new RegExp(`, cpu\\), not cuda: ${reason}$`)),
        });
      }
      const doctor = await runPaddock(["doctor", "--port", "0"], options);
      expect(doctor.stdout).toContain(
        `tiny-chat runs on the CPU, not with cuda: ${reason} (tried on`,
      );
      expect(doctor.stdout).toContain(advice);
      expect(doctor.code).toBe(0);
      const listed = await runPaddock(["models"], options);
      expect(listed.stderr).toContain(`Backend: cpu, not cuda: ${reason} (tried on`);
      const anew = await runPaddock(["doctor", "--gpu", "--port", "0"], options);
      expect(anew.stdout).toContain(`tiny-chat runs on the CPU, not with cuda: ${reason}. Driver:`);
    });
  });
}
