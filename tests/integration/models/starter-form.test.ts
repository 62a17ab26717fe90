import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  cpuFile,
  formFor,
  rememberedForm,
  starterForm,
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

describe("the starter chat model's form", () => {
  test("is one that is made in seconds where it is the fastest, else one that is made behind", () => {
    expect(formFor(withAmx)).toEqual({ type: "q8_0", first: true });
    expect(formFor(without)).toEqual({ type: "q4_k_s", first: false });
    expect(formFor("CPU : AMX_INT8 = 0 |")).toEqual({ type: "q4_k_s", first: false });
  });

  test("is found by asking llama.cpp once, and remembered for this CPU", async () => {
    await using folder = await tempDir();
    const { log } = recordingLog();
    const asked = { folder: folder.path, signal, log };
    expect(await rememberedForm(folder.path)).toBeUndefined();
    expect(await starterForm({ ...asked, program: saying(without) })).toEqual(formFor(without));
    expect(await starterForm({ ...asked, program: broken })).toEqual(formFor(without));
    const path = join(folder.path, cpuFile);
    const other = { ...JSON.parse(await readFile(path, "utf8")), cpu: "another" };
    await writeFile(path, JSON.stringify(other));
    expect(await starterForm({ ...asked, program: saying(withAmx) })).toEqual(formFor(withAmx));
  });

  test("is the one that is made in seconds where llama.cpp cannot be asked, and that is said", async () => {
    await using folder = await tempDir();
    const { log, lines } = recordingLog();
    const form = await starterForm({ folder: folder.path, signal, log, program: broken });
    expect(form).toEqual({ type: "q8_0", first: true });
    expect(lines).toHaveLength(1);
    expect(await rememberedForm(folder.path)).toBeUndefined();
  });
});
