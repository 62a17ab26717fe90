import { describe, expect, test } from "bun:test";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  addResult,
  everyModel,
  findResult,
  forgetFailures,
  readTrials,
  trialFile,
} from "../../../../src/engine/accelerator/trials.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const trial = { backend: "cuda", library: "abc", driver: "580.1", model: "m.gguf 1 2" };
const failed = { ...trial, failure: "it crashed", at: "2026-11-15" };
const worked = { ...trial, at: "2026-11-15" };

describe("verdicts on backends", () => {
  test("hold for the same library, driver and model alone", async () => {
    await using folder = await tempDir();
    const path = trialFile(join(folder.path, "data"));
    expect(await readTrials(path)).toEqual([]);
    await addResult(path, failed);
    const known = await readTrials(path);
    expect(known).toEqual([failed]);
    expect(findResult(known, trial)).toEqual(failed);
    for (const other of [
      { library: "another" },
      { driver: "590.1" },
      { model: "n.gguf 1 2" },
      { backend: "vulkan" },
    ]) {
      expect(findResult(known, { ...trial, ...other })).toBeUndefined();
    }
    expect((await stat(path)).mode & 0o077).toBe(0);
    expect(await readdir(join(folder.path, "data"))).toEqual(["accelerators.json"]);
  });

  test("replace what was known, of one model or of all", async () => {
    await using folder = await tempDir();
    const path = trialFile(folder.path);
    await addResult(path, failed);
    await addResult(path, worked);
    expect(await readTrials(path)).toEqual([worked]);
    const never = { ...failed, model: everyModel };
    await addResult(path, never);
    expect(findResult(await readTrials(path), { ...trial, model: "any" })).toEqual(never);
    await addResult(path, worked);
    expect(await readTrials(path)).toEqual([worked]);
  });

  test("of failures can be forgotten", async () => {
    await using folder = await tempDir();
    const path = trialFile(folder.path);
    await forgetFailures(path);
    const vulkan = { ...failed, backend: "vulkan" };
    await addResult(path, worked);
    await addResult(path, vulkan);
    await forgetFailures(path);
    expect(await readTrials(path)).toEqual([worked]);
  });

  test("in a file that is damaged, or of another form, are none", async () => {
    await using folder = await tempDir();
    const path = trialFile(folder.path);
    for (const text of ["", "{", "[]", '{"verdicts": 3}', '{"verdicts": [{}], "digests": {}}']) {
      await writeFile(path, text);
      expect(await readTrials(path)).toEqual([]);
    }
    await addResult(path, worked);
    expect(await readTrials(path)).toEqual([worked]);
  });
});
