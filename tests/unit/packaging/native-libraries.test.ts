import { afterEach, describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  gpuLibraries,
  nativeFolder,
  useGpuLibraries,
  useNativePlace,
} from "../../../src/packaging/native-libraries.ts";
import { tempDir } from "../../support/temp-dir.ts";

afterEach(() => {
  useGpuLibraries(undefined);
});

describe("native libraries", () => {
  test("are the packages' own where the program is not the executable", () => {
    expect(nativeFolder()).toBeUndefined();
  });

  test("of a GPU are looked for where the configuration says, then beside the program", async () => {
    await using beside = await tempDir();
    await using named = await tempDir();
    useNativePlace({ cacheFolder: "/nowhere", user: undefined, programFolder: beside.path });
    expect(gpuLibraries("linux-x64-cuda")).toBeUndefined();
    const own = join(beside.path, "linux-x64-cuda", "bins");
    await mkdir(own, { recursive: true });
    expect(gpuLibraries("linux-x64-cuda")).toBe(own);
    const configured = join(named.path, "@node-llama-cpp", "linux-x64-cuda", "bins");
    await mkdir(configured, { recursive: true });
    useGpuLibraries(named.path);
    expect(gpuLibraries("linux-x64-cuda")).toBe(configured);
    expect(gpuLibraries("linux-x64-vulkan")).toBeUndefined();
  });
});
