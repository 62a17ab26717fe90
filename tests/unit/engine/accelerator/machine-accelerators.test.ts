import { afterEach, describe, expect, test } from "bun:test";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadWithBest } from "../../../../src/core/models/engine-backends.ts";
import { contextDefaults } from "../../../../src/core/models/model.ts";
import {
  addResult,
  everyModel,
  findResult,
  forgetFailures,
  MachineAccelerators,
  readTrials,
  trialFile,
} from "../../../../src/engine/accelerator/machine-accelerators.ts";
import { engineVersion } from "../../../../src/packaging/gpu-packages.ts";
import { useGpuLibraries } from "../../../../src/packaging/native-libraries.ts";
import { silentLog } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

afterEach(() => useGpuLibraries(undefined));

const subject = { path: "/models/m.gguf", nGpuLayers: "auto" } as const;
const tried = { reason: "it crashed", triedOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) };

/** A machine with a driver of NVIDIA's, and libraries of CUDA's in a folder that the configuration names. */
async function machine() {
  const folder = await tempDir();
  const root = join(folder.path, "machine");
  const driver = join(root, "proc/driver/nvidia");
  await mkdir(driver, { recursive: true });
  const useDriver = (version: string) => writeFile(join(driver, "version"), `NVRM ${version}\n`);
  await useDriver("580.1");
  const gpu = join(folder.path, "gpu");
  const packageFolder = join(gpu, "linux-x64-cuda");
  const bins = join(packageFolder, "bins", "linux-x64-cuda");
  await mkdir(bins, { recursive: true });
  const library = join(bins, "libggml-cuda.so");
  await writeFile(library, "not a library");
  const useVersion = (version: string) =>
    writeFile(join(packageFolder, "package.json"), JSON.stringify({ version }));
  await useVersion(engineVersion);
  const open = () =>
    new MachineAccelerators({
      place: { platform: "linux", arch: "x64", env: {}, root },
      trials: trialFile(folder.path),
      gpuLibraries: gpu,
      log: silentLog,
    });
  return {
    ...{ folder, gpu, library, useDriver, useVersion, open },
    planFor: async (wanted: Parameters<MachineAccelerators["planFor"]>[0] = subject) => {
      const { keep, ...plan } = await open().planFor(wanted);
      return { plan, keep };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const noVulkan = {
  backend: "vulkan",
  reason: "this machine has no device or driver for it",
  hasDevice: false,
} as const;

describe("what is tried for a model", () => {
  test("is every backend with a device and libraries, and the CPU", async () => {
    await using here = await machine();
    expect((await here.planFor()).plan).toEqual({
      candidates: ["cuda", "cpu"],
      proven: [],
      rejected: [noVulkan],
    });
  });

  test("is the CPU alone where it has no layers elsewhere", async () => {
    await using here = await machine();
    const { plan } = await here.planFor({ ...subject, nGpuLayers: 0 });
    expect(plan.candidates).toEqual(["cpu"]);
    expect(plan.rejected[0]).toEqual({
      backend: "cuda",
      reason: "no model asks for it: n_gpu_layers is 0",
      hasDevice: false,
    });
  });

  test("is nothing without libraries, or with those of another build, and how to get them is said", async () => {
    await using here = await machine();
    await here.useVersion("3.0.0");
    const missing = { backend: "cuda", hasDevice: true, remedy: "'paddock pull gpu' brings them" };
    const other = `its libraries are of version 3.0.0, and the engine is ${engineVersion}`;
    expect((await here.planFor()).plan).toMatchObject({
      candidates: ["cpu"],
      rejected: [{ ...missing, reason: other }, noVulkan],
    });
    await rm(here.library);
    const reason = "its libraries are not whole";
    expect((await here.planFor()).plan.rejected[0]).toEqual({
      ...missing,
      backend: "cuda",
      reason,
    });
  });

  test("is what failed with another type of cache", async () => {
    await using here = await machine();
    const quantized = { ...contextDefaults, cacheTypeK: "q8_0", cacheTypeV: "q8_0" } as const;
    const { keep } = await here.planFor({ ...subject, context: quantized });
    await keep("cuda", { reason: "it crashed", isForAll: false });
    const candidatesFor = async (context = contextDefaults) =>
      (await here.planFor({ ...subject, context })).plan.candidates;
    expect(await candidatesFor()).toEqual(["cuda", "cpu"]);
    expect(await candidatesFor(quantized)).toEqual(["cpu"]);
  });

  test("is not what failed with the same library and driver, nor what works tried in another process", async () => {
    await using here = await machine();
    const { keep } = await here.planFor();
    await keep("cuda", { reason: "it crashed", isForAll: false });
    const { plan } = await here.planFor();
    expect(plan).toMatchObject({
      candidates: ["cpu"],
      rejected: [{ backend: "cuda", ...tried, hasDevice: true }, noVulkan],
    });
    // Another model may be computed by other parts of the library.
    const other = { ...subject, path: "/models/other.gguf" };
    expect((await here.planFor(other)).plan.candidates).toEqual(["cuda", "cpu"]);
    await keep("cuda");
    expect((await here.planFor()).plan).toMatchObject({
      candidates: ["cuda", "cpu"],
      proven: ["cuda"],
    });
  });

  test("is tried again with another driver, and with another library", async () => {
    await using here = await machine();
    const fail = async (): Promise<void> => {
      const { keep } = await here.planFor();
      await keep("cuda", { reason: "it crashed", isForAll: true });
      expect((await here.planFor()).plan.candidates).toEqual(["cpu"]);
    };
    await fail();
    await here.useDriver("590.1");
    expect((await here.planFor()).plan.candidates).toEqual(["cuda", "cpu"]);
    await fail();
    await writeFile(here.library, "another library");
    expect((await here.planFor()).plan.candidates).toEqual(["cuda", "cpu"]);
  });

  test("is tried again with a verdict file that is damaged, and goes on where none can be kept", async () => {
    await using here = await machine();
    const { keep } = await here.planFor();
    await keep("cuda", { reason: "it crashed", isForAll: true });
    await writeFile(trialFile(here.folder.path), '{"verdicts": [{"backend": "cu');
    const { plan, keep: keepAgain } = await here.planFor();
    expect(plan.candidates).toEqual(["cuda", "cpu"]);
    await rm(trialFile(here.folder.path));
    await mkdir(trialFile(here.folder.path));
    await keepAgain("cuda");
    const { loaded } = await loadWithBest(
      { ...plan, keep: keepAgain },
      "m",
      silentLog,
      async (backend) => backend,
    );
    expect(loaded).toBe("cuda");
  });
});

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
