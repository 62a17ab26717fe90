import { describe, expect, test } from "bun:test";
import { cacheFolder } from "../../../src/packaging/cache-folder.ts";

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
