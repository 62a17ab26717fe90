import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { findSource, resolveSource } from "../../../../../src/models/sources/resolve.ts";
import { modelBytes } from "../../../../support/model-bytes.ts";
import { type RegistryOptions, startRegistry } from "../../../../support/npm-registry.ts";
import { rejectionOf } from "../../../../support/rejection.ts";
import { silentProgress } from "../../../../support/silence.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

const source = "npm:@made/weights@1.0.0/dist/tiny.gguf";
const model = modelBytes(100_000);
const files = { "package.json": "{}", "dist/tiny.gguf": model, "dist/other.gguf": "no" };
const sha256 = new Bun.CryptoHasher("sha256").update(model).digest("hex");

async function resolved(
  {
    wanted = source,
    token,
    digest,
    ...registry
  }: Partial<RegistryOptions> & {
    wanted?: string;
    token?: string;
    digest?: string;
  },
  check: (result: {
    path: () => Promise<string>;
    folder: string;
    asked: { path: string; token: string | null }[];
  }) => Promise<void>,
): Promise<void> {
  await using folder = await tempDir();
  using server = startRegistry({ files, ...registry });
  const hub = { endpoint: server.url, ...(token === undefined ? {} : { token }) };
  const path = (): Promise<string> =>
    resolveSource(wanted, {
      folder: folder.path,
      baseDir: folder.path,
      hub: { endpoint: "https://hub.invalid" },
      registryOf: async () => hub,
      progress: silentProgress,
      signal: new AbortController().signal,
      pauseMs: 1,
      ...(digest === undefined ? {} : { sha256: digest }),
    });
  await check({ path, folder: folder.path, asked: server.asked });
}

describe("a model in a package of the registry", () => {
  test("is taken out of the package's archive, once", () =>
    resolved({ token: "secret", digest: sha256 }, async ({ path, folder, asked }) => {
      const file = await path();
      expect(await Bun.file(file).bytes()).toEqual(Uint8Array.from(model));
      expect(asked).toEqual([
        { path: "/@made%2fweights/1.0.0", token: "Bearer secret" },
        { path: "/weights-1.0.0.tgz", token: "Bearer secret" },
      ]);
      expect(await path()).toBe(file);
      expect(asked).toHaveLength(2);
      expect(await findSource(source, { folder, baseDir: folder })).toBe(file);
      const names = (await readdir(folder)).sort();
      expect(names.filter((name) => /part|lock/.test(name))).toEqual([]);
      expect(basename(file)).toMatch(/^npm_[0-9a-f]{8}_tiny\.gguf$/);
    }));

  test("does not show the registry's token to the server that has the archive", async () => {
    using other = startRegistry({ files });
    await resolved({ token: "secret", tarballOrigin: other.url }, async ({ path }) => {
      await path();
      expect(other.asked).toEqual([{ path: "/weights-1.0.0.tgz", token: null }]);
    });
  });

  const refusals: [string, Parameters<typeof resolved>[0], RegExp][] = [
    [
      "is another than the registry says",
      { integrity: `sha512-${btoa("other")}` },
      /sha512 is another/,
    ],
    ["has no digest", { integrity: "sha1-AAAA" }, /no digest of @made\/weights@1\.0\.0/],
    ["has no such file", { wanted: source.replace("tiny", "none") }, /no file 'dist\/none\.gguf'/],
    ["holds what is no GGUF", { wanted: source.replace("tiny", "other") }, /no GGUF file/],
    ["is of another digest", { digest: "0".repeat(64) }, /is not the one it should be/],
    ["is cut off", { sent: (archive) => archive.slice(0, 200) }, /cannot be (unpacked|fetched)/],
    ["is no archive", { sent: () => new Uint8Array(1000) }, /cannot be unpacked/],
    ["lies at no address", { tarballOrigin: "http://[" }, /names an archive that is no address/],
    ["lies at no web address", { tarballOrigin: "file://" }, /must be an https:\/\/ address/],
    ["is not there", { wanted: "npm:@made/none@1.0.0/a.gguf" }, /cannot be fetched.*has no/],
    ["is no model", { wanted: "npm:@made/weights@1.0.0/package.json" }, /must end in \.gguf/],
  ];
  test.each(refusals)("is refused where it %s, and leaves nothing", (_, options, message) =>
    resolved(options, async ({ path, folder }) => {
      expect(await rejectionOf(path())).toMatchObject({
        message: expect.stringMatching(message),
      });
      expect((await readdir(folder)).filter((name) => /gguf/.test(name))).toEqual([]);
    }),
  );
});
