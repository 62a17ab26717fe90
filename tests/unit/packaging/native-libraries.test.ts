import { afterEach, describe, expect, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  cacheFolder,
  gpuLibraries,
  nativeFolder,
  setProgramFolders,
  useGpuLibraries,
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
    setProgramFolders({ cacheFolder: "/nowhere", user: undefined, programFolder: beside.path });
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

describe("the cache folder", () => {
  test.each<[string, Record<string, string>, string]>([
    ["linux", {}, "/home/ada/.cache/paddock"],
    ["linux", { XDG_CACHE_HOME: "/var/cache/ada" }, "/var/cache/ada/paddock"],
    ["linux", { XDG_CACHE_HOME: "relative" }, "/home/ada/.cache/paddock"],
    ["linux", { XDG_CACHE_HOME: "" }, "/home/ada/.cache/paddock"],
    ["darwin", { XDG_CACHE_HOME: "/x" }, "/home/ada/Library/Caches/paddock"],
    ["win32", { LOCALAPPDATA: "/local" }, "/local/paddock/cache"],
    ["win32", {}, "/home/ada/AppData/Local/paddock/cache"],
    ["linux", { PADDOCK_CACHE_DIR: "/mine", XDG_CACHE_HOME: "/x" }, "/mine"],
  ])("on %s with %j is %s", (platform, env, expected) => {
    expect(cacheFolder({ platform, env, home: "/home/ada" })).toBe(expected);
  });
});
