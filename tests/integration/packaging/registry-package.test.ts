import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readRegistry } from "../../../src/packaging/npm-registry.ts";
import { fetchPackage } from "../../../src/packaging/registry-package.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { silentProgress } from "../../support/silence.ts";
import { type TempDir, tempDir } from "../../support/temp-dir.ts";

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
function tarballOf(path: string): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(3 * 512);
  new TextEncoder().encodeInto(path, header);
  new TextEncoder().encodeInto("00000000000\0", header.subarray(124));
  header[156] = "0".charCodeAt(0);
  return Bun.gzipSync(header);
}

const sha512 = (bytes: Uint8Array): string =>
  `sha512-${new Bun.CryptoHasher("sha512").update(bytes).digest("base64")}`;

interface MadeRegistry {
  tarball: Uint8Array;
  integrity?: string;
  /** Key that requests must carry. */
  token?: string;
}

function serveRegistry({ tarball, integrity = sha512(tarball), token }: MadeRegistry): string {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      if (token !== undefined && request.headers.get("authorization") !== `Bearer ${token}`) {
        return new Response("who are you", { status: 401 });
      }
      if (pathname === "/npm/libraries.tgz") return new Response(tarball);
      if (decodeURIComponent(pathname) !== `/npm/${name}`) {
        return new Response("not here", { status: 404 });
      }
      const dist = { tarball: `${origin}/npm/libraries.tgz`, integrity };
      return Response.json({ versions: { [version]: { dist } } });
    },
  });
  resources.defer(() => server.stop(true));
  return `${server.url.origin}/npm`;
}

const fetchFrom = (url: string, wanted = version, env: Record<string, string> = {}) =>
  fetchPackage(name, wanted, {
    registry: readRegistry({
      env: { HOME: folder.path, BUN_CONFIG_REGISTRY: url, ...env },
      cwd: folder.path,
    }),
    folder: join(folder.path, "gpu", "libraries"),
    progress: silentProgress,
    signal: new AbortController().signal,
  });

const filesIn = async (path: string): Promise<string[]> =>
  (await readdir(path, { recursive: true }).catch(() => [])).sort();

const gpu = () => filesIn(join(folder.path, "gpu"));

describe("a package from the registry", () => {
  const long = `bins/${"deep/".repeat(30)}library.so`;
  const files = { "package.json": "{}", "bins/a.so": "x".repeat(3000), [long]: "long" };

  test("is unpacked whole, and takes the place of another", async () => {
    const url = serveRegistry({ tarball: await pack(files) });
    const old = join(folder.path, "gpu", "libraries", "old.txt");
    await mkdir(join(old, ".."), { recursive: true });
    await writeFile(old, "");
    const path = await fetchFrom(url);
    expect(await readFile(join(path, "bins/a.so"), "utf8")).toBe(files["bins/a.so"]);
    expect(await readFile(join(path, long), "utf8")).toBe("long");
    expect(await filesIn(path)).not.toContain("old.txt");
    expect((await readdir(join(folder.path, "gpu"))).sort()).toEqual(["libraries"]);
  });

  test("is refused where it is not what the registry says, and leaves nothing behind", async () => {
    const tarball = await pack(files);
    const other = sha512(new Uint8Array([1]));
    const url = serveRegistry({ tarball, integrity: other });
    expect(await rejectionOf(fetchFrom(url))).toMatchObject({
      kind: "unavailable",
      message: `${name}@${version} cannot be fetched: what came is not what the registry says it is (sha512).`,
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
      "its digest is of no known kind",
    );
    const url = serveRegistry({ tarball });
    expect(await reasonOf(fetchFrom(url, "9.9.9"))).toContain("has no such version");
    expect(await reasonOf(fetchFrom(`${url}/elsewhere`))).toContain("answers 404");
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
    const url = serveRegistry({ tarball, token: "secret" });
    expect(String(await rejectionOf(fetchFrom(url)))).toContain("answers 401");
    const line = `${url.replace("http:", "")}/:_authToken=\${TOKEN}\n`;
    await writeFile(join(folder.path, ".npmrc"), `# ours\n${line}`);
    expect(await fetchFrom(url, version, { TOKEN: "secret" })).toEndWith("libraries");
  });
});

describe("the registry", () => {
  const read = (env: Record<string, string> = {}, scope = "@scope") =>
    readRegistry({ env: { HOME: join(folder.path, "home"), ...env }, cwd: folder.path }, scope);

  test("is the public one, else as the files and the environment say, a scope's own first", async () => {
    expect(read().url).toBe("https://registry.npmjs.org/");
    await writeFile(
      join(folder.path, "bunfig.toml"),
      '[install]\nregistry = { url = "https://bun.example/r" }\n',
    );
    expect(read().url).toBe("https://bun.example/r/");
    await writeFile(join(folder.path, ".npmrc"), 'registry = "https://npm.example"\n');
    expect(read().url).toBe("https://npm.example/");
    expect(read({ npm_config_registry: "https://env.example/" }).url).toBe("https://env.example/");
    await writeFile(join(folder.path, ".npmrc"), "@scope:registry=https://scope.example/npm/\n");
    expect(read({ npm_config_registry: "https://env.example/" }).url).toBe(
      "https://scope.example/npm/",
    );
    expect(read({}, "@other").url).toBe("https://bun.example/r/");
  });

  test("is the only one that is shown its credentials", async () => {
    const { url, headersFor } = read({ BUN_CONFIG_REGISTRY: "https://ada:pass@npm.example/r" });
    expect(url).toBe("https://npm.example/r/");
    const authorization = `Basic ${btoa("ada:pass")}`;
    expect(headersFor("https://npm.example/r/x.tgz")).toEqual({ authorization });
    expect(headersFor("https://files.example/x.tgz")).toEqual({});
  });
});
