import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  cpuFile,
  quantizationFor,
  rememberedQuantization,
  starterQuantization,
} from "../../../src/engine/quantization/starter-quantization.ts";
import type { Program } from "../../../src/subprocess/program.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { tempDir } from "../../support/temp-dir.ts";

const withAmx = "CPU : AVX512 = 1 | AMX_INT8 = 1 | REPACK = 1 |";
const without = "CPU : AVX512 = 1 | REPACK = 1 |";
const { signal } = new AbortController();
const env = { PATH: process.env.PATH ?? "" };
const saying = (text: string): Program => ({ command: ["sh", "-c", `echo '${text}'`], env });
const broken: Program = { command: ["sh", "-c", "exit 3"], env };

describe("the quantization of the starter chat model", () => {
  test("is one that is made in seconds where it is the fastest, else one that is made in the background", () => {
    expect(quantizationFor(withAmx)).toEqual({ type: "q8_0", first: true });
    expect(quantizationFor(without)).toEqual({ type: "q4_k_s", first: false });
    expect(quantizationFor("CPU : AMX_INT8 = 0 |")).toEqual({ type: "q4_k_s", first: false });
  });

  test("is found by asking llama.cpp once, and remembered for this CPU", async () => {
    await using folder = await tempDir();
    const { log } = recordingLog();
    const asked = { folder: folder.path, signal, log };
    expect(await rememberedQuantization(folder.path)).toBeUndefined();
    expect(await starterQuantization({ ...asked, program: saying(without) })).toEqual(
      quantizationFor(without),
    );
    expect(await starterQuantization({ ...asked, program: broken })).toEqual(
      quantizationFor(without),
    );
    const path = join(folder.path, cpuFile);
    const other = { ...JSON.parse(await readFile(path, "utf8")), cpu: "another" };
    await writeFile(path, JSON.stringify(other));
    expect(await starterQuantization({ ...asked, program: saying(withAmx) })).toEqual(
      quantizationFor(withAmx),
    );
  });

  test("is the one that is made in seconds where llama.cpp cannot be asked, and that is said", async () => {
    await using folder = await tempDir();
    const { log, lines } = recordingLog();
    const form = await starterQuantization({ folder: folder.path, signal, log, program: broken });
    expect(form).toEqual({ type: "q8_0", first: true });
    expect(lines).toHaveLength(1);
    expect(await rememberedQuantization(folder.path)).toBeUndefined();
  });
});
