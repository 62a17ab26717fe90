import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type DownloadOptions, download } from "../../../../src/models/sources/download.ts";
import { hubFrom } from "../../../../src/models/sources/hub-reference.ts";
import { modelBytes, sha256Of } from "../../../support/model-bytes.ts";
import { type Answer, honest, modelServer } from "../../../support/model-server.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const bytes = modelBytes(50_000);

/** A hub with one repository: `owner/repo`. */
const hubAnswers =
  (files: Readonly<Record<string, Uint8Array>>, quantizations: Readonly<Record<string, string>>) =>
  (asked: Parameters<ReturnType<typeof honest>>[0]): Answer => {
    const { pathname } = new URL(asked.path, "http://hub");
    const tag = /^\/v2\/owner\/repo\/manifests\/(.+)$/.exec(pathname)?.[1] ?? "";
    const rfilename = quantizations[tag];
    if (rfilename !== undefined) {
      return { status: 200, body: JSON.stringify({ ggufFile: { rfilename } }) };
    }
    const file = files[/^\/owner\/repo\/resolve\/main\/(.+)$/.exec(pathname)?.[1] ?? ""];
    if (file !== undefined) return honest(file)(asked);
    return { status: 404, headers: { "x-error-code": "EntryNotFound" } };
  };

const downloadInto = (
  folder: string,
  source: string,
  env: Record<string, string>,
  options: Partial<DownloadOptions> = {},
): Promise<string> =>
  download(source, {
    folder,
    hub: hubFrom(env),
    progress: silentProgress,
    signal: new AbortController().signal,
    pauseMs: 1,
    ...options,
  });

describe("a model of the hub", () => {
  test("is fetched by its file, once", async () => {
    await using hub = await modelServer(hubAnswers({ "deep/m.gguf": bytes }, {}));
    await using folder = await tempDir();
    const env = { HF_ENDPOINT: `${hub.url}/` };
    const path = await downloadInto(folder.path, "hf:owner/repo/deep/m.gguf", env);
    expect(path).toMatch(/hf_owner_repo_[0-9a-f]{8}_deep_m\.gguf$/);
    expect(sha256Of(await Bun.file(path).bytes())).toBe(sha256Of(bytes));
    expect(await downloadInto(folder.path, "hf:owner/repo/deep/m.gguf", env)).toBe(path);
    expect(hub.asked.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
  });

  test("is fetched by the form of its weights, and found again without the hub", async () => {
    const files = { "m-Q4_K_M.gguf": bytes };
    const names = { Q4_K_M: "m-Q4_K_M.gguf", latest: "m-Q4_K_M.gguf" };
    await using hub = await modelServer(hubAnswers(files, names));
    await using folder = await tempDir();
    const env = { HF_ENDPOINT: hub.url };
    const path = await downloadInto(folder.path, "hf:owner/repo:Q4_K_M", env);
    expect(path).toBe(join(folder.path, "hf_owner_repo_m-Q4_K_M.gguf"));
    const away = { HF_ENDPOINT: "http://127.0.0.1:9" };
    expect(await downloadInto(folder.path, "hf:owner/repo:Q4_K_M", away)).toBe(path);
    const asked = hub.asked.length;
    expect(await downloadInto(folder.path, "hf:owner/repo", env)).toBe(path);
    expect(hub.asked.slice(asked).map(({ path }) => path)).toEqual([
      "/v2/owner/repo/manifests/latest",
      "/owner/repo/resolve/main/m-Q4_K_M.gguf",
    ]);
    // Either source leads to the one file from now on.
    for (const source of ["hf:owner/repo", "hf:owner/repo:Q4_K_M"]) {
      expect(await downloadInto(folder.path, source, away)).toBe(path);
    }
  });

  test("comes with all its parts, and only those that are missing are fetched again", async () => {
    const parts = [1, 2, 3].map((number) => `m-0000${number}-of-00003.gguf`);
    const files = Object.fromEntries(parts.map((name, at) => [name, modelBytes(10_000, at)]));
    await using hub = await modelServer(hubAnswers(files, { Q8_0: "m-00001-of-00003.gguf" }));
    await using folder = await tempDir();
    const env = { HF_ENDPOINT: hub.url };
    const path = await downloadInto(folder.path, "hf:owner/repo:Q8_0", env);
    expect(path).toBe(join(folder.path, "hf_owner_repo_m-00001-of-00003.gguf"));
    const names = parts.map((name) => `hf_owner_repo_${name}`);
    expect((await readdir(folder.path)).filter((name) => name.endsWith(".gguf")).sort()).toEqual(
      names,
    );
    await Bun.file(join(folder.path, names[1] ?? "")).delete();
    const asked = hub.asked.length;
    await downloadInto(folder.path, "hf:owner/repo:Q8_0", env);
    expect(hub.asked.slice(asked).map(({ path }) => path)).toEqual([
      "/owner/repo/resolve/main/m-00001-of-00003.gguf",
      "/owner/repo/resolve/main/m-00002-of-00003.gguf",
    ]);
  });

  test("takes few of the process's connections where it has many parts and the hub is slow", async () => {
    const held: (() => void)[] = [];
    let asked = 0;
    const hub = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch() {
        // The first is about the file's commit.
        if (++asked > 1) await new Promise<void>((resolve) => held.push(resolve));
        return new Response(bytes);
      },
    });
    await using folder = await tempDir();
    const leaving = new AbortController();
    const { signal } = leaving;
    const env = { HF_ENDPOINT: hub.url.origin };
    const source = "hf:owner/repo/m-00001-of-01000.gguf";
    const pulled = rejectionOf(downloadInto(folder.path, source, env, { signal }));
    await waitFor("the hub to be asked for sizes", () => held.length > 1);
    await Bun.sleep(200);
    expect(held.length).toBeLessThan(20);
    leaving.abort();
    for (const answer of held) answer();
    await pulled;
    await hub.stop(true);
  });

  test("must have the digest and the size that the hub tells", async () => {
    await using cdn = await modelServer(honest(bytes));
    const said = { digest: sha256Of(bytes), size: bytes.length };
    await using hub = await modelServer(() => ({
      status: 302,
      headers: {
        location: `${cdn.url}/blob.gguf`,
        "x-linked-etag": `"${said.digest}"`,
        "x-linked-size": String(said.size),
      },
    }));
    const env = { HF_ENDPOINT: hub.url };
    await using right = await tempDir();
    await downloadInto(right.path, "hf:owner/repo/m.gguf", env);
    said.size = 7;
    await using short = await tempDir();
    await expect(downloadInto(short.path, "hf:owner/repo/m.gguf", env)).rejects.toThrow(
      "would send 50000 bytes, but the hub says that the file has 7",
    );
    said.size = bytes.length;
    said.digest = "0".repeat(64);
    await using wrong = await tempDir();
    await expect(downloadInto(wrong.path, "hf:owner/repo/m.gguf", env)).rejects.toThrow(
      "was removed",
    );
  });
});

describe("the token", () => {
  test("is shown to the hub and to nobody that it leads to", async () => {
    await using cdn = await modelServer(honest(bytes));
    await using hub = await modelServer((asked) =>
      asked.path.startsWith("/v2/")
        ? { status: 200, body: JSON.stringify({ ggufFile: { rfilename: "m.gguf" } }) }
        : { status: 307, headers: { location: `${cdn.url}/m.gguf?signature=1` } },
    );
    await using folder = await tempDir();
    const env = { HF_ENDPOINT: hub.url, HF_TOKEN: "hf_secret" };
    await downloadInto(folder.path, "hf:owner/repo:Q4_K_M", env);
    expect(hub.asked.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer hf_secret",
      "Bearer hf_secret",
      "Bearer hf_secret",
    ]);
    expect(cdn.asked.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test("is not shown to an address that has nothing to do with the hub", async () => {
    await using server = await modelServer(honest(bytes));
    await using folder = await tempDir();
    await downloadInto(folder.path, `${server.url}/m.gguf`, { HF_TOKEN: "hf_secret" });
    expect(server.asked[0]?.headers.authorization).toBeUndefined();
  });
});

describe("a model that cannot be fetched", () => {
  const said = async (answer: Answer, source: string, token?: string): Promise<string> => {
    await using hub = await modelServer(() => answer);
    await using folder = await tempDir();
    const env = { HF_ENDPOINT: hub.url, ...(token === undefined ? {} : { HF_TOKEN: token }) };
    const reason = await downloadInto(folder.path, source, env).then(
      () => "it was fetched",
      (error: Error) => error.message,
    );
    return reason.replaceAll(hub.url, "HUB");
  };

  test("is gated: the terms are to be accepted and a token to be set", async () => {
    const gated = { status: 401, headers: { "x-error-code": "GatedRepo" } };
    expect(await said(gated, "hf:owner/repo/m.gguf")).toBe(
      "The model 'hf:owner/repo/m.gguf' cannot be fetched: the repository owner/repo is gated. Accept its terms at HUB/owner/repo, make a token that may read it, and set HF_TOKEN.",
    );
    expect(await said({ status: 403 }, "hf:owner/repo:Q4_K_M", "hf_other")).toBe(
      "The model 'hf:owner/repo:Q4_K_M' cannot be fetched: the token in HF_TOKEN may not read the repository owner/repo. Accept its terms at HUB/owner/repo with the account of the token.",
    );
  });

  test("is not there, or hidden", async () => {
    expect(await said({ status: 401 }, "hf:owner/repo/m.gguf")).toContain(
      "the repository owner/repo is not there, or it is gated or private",
    );
    expect(await said({ status: 401 }, "hf:owner/repo/m.gguf", "hf_old")).toContain(
      "the hub does not take the token in HF_TOKEN",
    );
    expect(await said({ status: 404 }, "hf:owner/repo/m.gguf")).toContain(
      "the repository owner/repo has no file 'm.gguf' at main",
    );
    expect(await said({ status: 404 }, "hf:owner/repo:Q9")).toContain(
      "the repository owner/repo has no GGUF file of the form 'Q9'",
    );
    const gone = { status: 404, headers: { "x-error-code": "RepoNotFound" } };
    expect(await said(gone, "hf:owner/repo:Q9")).toContain("the hub has no repository owner/repo");
  });

  test("is on a hub that is away", async () => {
    await using folder = await tempDir();
    const env = { HF_ENDPOINT: "http://127.0.0.1:9" };
    for (const source of ["hf:owner/repo:Q4_K_M", "hf:owner/repo/m.gguf"]) {
      await expect(downloadInto(folder.path, source, env)).rejects.toThrow(
        /127\.0\.0\.1:9 cannot be reached/,
      );
    }
  });

  test("is on a hub that talks nonsense, or in circles", async () => {
    expect(await said({ status: 200, body: "<html>" }, "hf:owner/repo:Q4_K_M")).toContain(
      "does not say which file of owner/repo has the form 'Q4_K_M'",
    );
    const circle = { status: 302, headers: { location: "/owner/repo/m.gguf" } };
    expect(await said(circle, "hf:owner/repo/m.gguf")).toContain("redirects without end");
  });

  test.each(["hf:repo", "hf:owner/repo/file.bin", "hf:owner/repo/../x.gguf", "hf:../repo:Q8_0"])(
    "is named wrongly: %s",
    async (source) => {
      await using folder = await tempDir();
      await expect(downloadInto(folder.path, source, {})).rejects.toThrow(
        "Write hf:owner/repo:quant or hf:owner/repo/file.gguf.",
      );
    },
  );

  test("is an address that is no file's, or one digest for many files", async () => {
    await using folder = await tempDir();
    await expect(downloadInto(folder.path, "https://models.example/page", {})).rejects.toThrow(
      "its path must end in .gguf",
    );
    const split = "https://models.example/m-00001-of-00002.gguf";
    const options = { sha256: "0".repeat(64) };
    await expect(downloadInto(folder.path, split, {}, options)).rejects.toThrow(
      "A digest is of one file",
    );
  });
});

test("a file that another process fetched meanwhile must have the digest that is wanted here", async () => {
  const isAsked = Promise.withResolvers<void>();
  const mayCome = Promise.withResolvers<void>();
  const hub = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch({ method }) {
      if (method === "GET") {
        isAsked.resolve();
        await mayCome.promise;
      }
      return new Response(bytes);
    },
  });
  await using folder = await tempDir();
  const env = { HF_ENDPOINT: hub.url.origin };
  const first = downloadInto(folder.path, "hf:owner/repo/m.gguf", env);
  await isAsked.promise;
  const waiting = Promise.withResolvers<void>();
  const progress = {
    step(...asked: Parameters<typeof silentProgress.step>) {
      waiting.resolve();
      return silentProgress.step(...asked);
    },
  };
  const options = { sha256: "0".repeat(64), progress };
  const second = rejectionOf(downloadInto(folder.path, "hf:owner/repo/m.gguf", env, options));
  await waiting.promise;
  mayCome.resolve();
  expect(String(await second)).toContain("it is not the one it should be");
  expect(sha256Of(await Bun.file(await first).bytes())).toBe(sha256Of(bytes));
  await hub.stop(true);
});

test.each([
  ["hf:owner/repo/a/b.gguf", "hf:owner/repo/a_b.gguf"],
  ["hf:owner/repo/a b.gguf", "hf:owner/repo/a+b.gguf"],
  ["hf:a_b/c/m.gguf", "hf:a/b_c/m.gguf"],
  ["hf:owner/repo/m.gguf#dev", "hf:owner/repo/dev_m.gguf"],
])("two files of the hub do not meet in one: %s and %s", async (one, other) => {
  // The second was served with the weights of the first.
  await using hub = await modelServer((asked) =>
    honest(new TextEncoder().encode(`GGUF ${asked.path}`))(asked),
  );
  await using folder = await tempDir();
  const env = { HF_ENDPOINT: hub.url };
  const paths = [
    await downloadInto(folder.path, one, env),
    await downloadInto(folder.path, other, env),
  ];
  expect(new Set(paths).size).toBe(2);
});

test("what stands before a host, a password perhaps, is neither kept nor said", async () => {
  await using server = await modelServer(honest(bytes));
  await using folder = await tempDir();
  const address = `${server.url.replace("://", "://me:secret@")}/m.gguf`;
  const path = await downloadInto(folder.path, address, {});
  expect(await Bun.file(`${path}.origin.json`).text()).not.toContain("secret");
  const refused = downloadInto(folder.path, address.replace("m.gguf", "page"), {});
  expect(String(await rejectionOf(refused))).not.toContain("secret");
});

test("two files of one name from two places do not meet", async () => {
  await using server = await modelServer(({ path }) =>
    honest(modelBytes(1000, path.length))({ method: "GET", path, headers: {} }),
  );
  await using folder = await tempDir();
  const one = await downloadInto(folder.path, `${server.url}/a/m.gguf`, {});
  const other = await downloadInto(folder.path, `${server.url}/other/m.gguf?key=1`, {});
  expect(one).not.toBe(other);
});

test("a key in an address is sent, and neither kept nor said", async () => {
  await using server = await modelServer(({ path, headers }) =>
    path === "/m.gguf?key=secret"
      ? honest(bytes)({ method: "GET", path, headers })
      : { status: 403 },
  );
  await using folder = await tempDir();
  const path = await downloadInto(folder.path, `${server.url}/m.gguf?key=secret`, {});
  expect(await Bun.file(`${path}.origin.json`).text()).not.toContain("secret");
  expect(await downloadInto(folder.path, `${server.url}/m.gguf?key=other`, {})).toBe(path);
  expect(server.asked).toHaveLength(1);
  const refused = downloadInto(folder.path, `${server.url}/n.gguf?key=secret`, {});
  await expect(refused).rejects.toThrow(
    `The model '${server.url}/n.gguf' cannot be fetched: ${new URL(server.url).host} answers 403.`,
  );
});
