import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fetchPackage } from "../../../../../src/models/sources/npm/fetch-package.ts";
import { registryFrom } from "../../../../../src/models/sources/npm/registry-settings.ts";
import { findSource, resolveSource } from "../../../../../src/models/sources/resolve.ts";
import { modelBytes } from "../../../../support/model-bytes.ts";
import {
  type RegistryOptions,
  startRegistry,
  tarHeader,
} from "../../../../support/npm-registry.ts";
import { rejectionOf } from "../../../../support/rejection.ts";
import { silentProgress } from "../../../../support/silence.ts";
import { type TempDir, tempDir } from "../../../../support/temp-dir.ts";

const name = "@scope/libraries";
const version = "3.0.0";

let folder: TempDir;
let resources: AsyncDisposableStack;
beforeEach(async () => {
  resources = new AsyncDisposableStack();
  folder = resources.use(await tempDir());
});
afterEach(() => resources.disposeAsync());

/** A tarball as npm packs one; `inside`: files under the folder that it holds. */
async function pack(inside: Record<string, string>): Promise<Uint8Array> {
  await using place = await tempDir();
  for (const [path, text] of Object.entries(inside)) {
    await mkdir(join(place.path, "package", path, ".."), { recursive: true });
    await writeFile(join(place.path, "package", path), text);
  }
  const child = Bun.spawn(["tar", "-czf", "-", "package"], { cwd: place.path });
  return await child.stdout.bytes();
}

/** A tarball with one empty file, whatever its path. */
const tarballOf = (path: string): Uint8Array<ArrayBuffer> =>
  Bun.gzipSync(Buffer.concat([tarHeader(path, 0), new Uint8Array(1024)]));

const sha512 = (bytes: Uint8Array): string =>
  `sha512-${new Bun.CryptoHasher("sha512").update(bytes).digest("base64")}`;

interface MadeRegistry {
  tarball: Uint8Array;
  integrity?: string;
  /** What requests must carry. */
  authorization?: string;
}

function serveRegistry({
  tarball,
  integrity = sha512(tarball),
  authorization,
}: MadeRegistry): string {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      const shown = request.headers.get("authorization");
      if (authorization !== undefined && shown !== authorization) {
        return new Response("who are you", { status: 401 });
      }
      if (pathname === "/npm/libraries.tgz") return new Response(tarball);
      if (decodeURIComponent(pathname) !== `/npm/${name}/${version}`) {
        return new Response("not here", { status: 404 });
      }
      return Response.json({ dist: { tarball: `${origin}/npm/libraries.tgz`, integrity } });
    },
  });
  resources.defer(() => server.stop(true));
  return `${server.url.origin}/npm`;
}

async function fetchFrom(
  url: string,
  wanted = version,
  env: Record<string, string> = {},
): Promise<string> {
  const path = join(folder.path, "gpu", "libraries");
  const settings = { HOME: folder.path, BUN_CONFIG_REGISTRY: url, ...env };
  const registry = await registryFrom(settings, folder.path)(name);
  await fetchPackage(
    { package: name, version: wanted },
    {
      registry,
      folder: path,
      progress: silentProgress,
      signal: new AbortController().signal,
      pauseMs: 1,
    },
  );
  return path;
}

const filesIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { recursive: true }).catch(() => [])).sort();

const gpu = () => filesIn(join(folder.path, "gpu"));

describe("a package from the registry", () => {
  const long = `bins/${"deep/".repeat(30)}library.so`;
  const files = { "package.json": "{}", "bins/a.so": "x".repeat(3000), [long]: "long", empty: "" };

  test("is unpacked whole, and takes the place of another", async () => {
    const url = serveRegistry({ tarball: await pack(files) });
    const old = join(folder.path, "gpu", "libraries", "old.txt");
    await mkdir(join(old, ".."), { recursive: true });
    await writeFile(old, "");
    const path = await fetchFrom(url);
    expect(await readFile(join(path, "bins/a.so"), "utf8")).toBe(files["bins/a.so"]);
    expect(await readFile(join(path, long), "utf8")).toBe("long");
    expect(await readFile(join(path, "empty"), "utf8")).toBe("");
    expect(await filesIn(path)).not.toContain("old.txt");
    expect((await readdir(join(folder.path, "gpu"))).sort()).toEqual(["libraries"]);
  });

  test("is refused where it is not what the registry says, and leaves nothing behind", async () => {
    const tarball = await pack(files);
    const other = sha512(new Uint8Array([1]));
    const url = serveRegistry({ tarball, integrity: other });
    expect(await rejectionOf(fetchFrom(url))).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(
        /^The package '@scope\/libraries@3\.0\.0' cannot be fetched: .* is not the package: its sha512 is another/,
      ),
    });
    expect(await gpu()).toEqual([]);
    const cut = tarball.subarray(0, tarball.length / 2);
    await rejectionOf(fetchFrom(serveRegistry({ tarball: cut })));
    expect(await gpu()).toEqual([]);
  });

  test("is refused without a digest, and where there is no such version or package", async () => {
    const tarball = await pack(files);
    const reasonOf = async (promise: Promise<unknown>) => String(await rejectionOf(promise));
    expect(await reasonOf(fetchFrom(serveRegistry({ tarball, integrity: "" })))).toContain(
      "the registry has no digest of @scope/libraries@3.0.0 that can be relied on",
    );
    const url = serveRegistry({ tarball });
    expect(await reasonOf(fetchFrom(url, "9.9.9"))).toContain(
      "has no /npm/@scope%2flibraries/9.9.9",
    );
    expect(await reasonOf(fetchFrom(`${url}/elsewhere`))).toContain("has no /npm/elsewhere/");
    expect(await gpu()).toEqual([]);
  });

  test("writes nothing outside of its folder", async () => {
    for (const path of ["package/../../evil.txt", "package//etc/evil.txt", "/../evil.txt"]) {
      const tarball = tarballOf(path);
      const error = await rejectionOf(fetchFrom(serveRegistry({ tarball })));
      expect(String(error)).toContain("it holds a file outside of itself");
      expect(await filesIn(folder.path)).toEqual(["gpu"]);
    }
  });

  test("is fetched with the credentials that npm has for the registry", async () => {
    const tarball = await pack(files);
    const url = serveRegistry({ tarball, authorization: "Bearer secret" });
    expect(String(await rejectionOf(fetchFrom(url)))).toContain("answers 401");
    const line = `${url.replace("http:", "")}/:_authToken=\${TOKEN}\n`;
    await writeFile(join(folder.path, ".npmrc"), `# ours\n${line}`);
    expect(await fetchFrom(url, version, { TOKEN: "secret" })).toEndWith("libraries");
    const named = serveRegistry({ tarball, authorization: `Basic ${btoa("ada:pass")}` });
    expect(await fetchFrom(named.replace("//", "//ada:pass@"))).toEndWith("libraries");
  });
});

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
