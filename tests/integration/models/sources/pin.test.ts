import { describe, expect, test } from "bun:test";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DownloadOptions, download } from "../../../../src/models/sources/download.ts";
import { hubFrom } from "../../../../src/models/sources/hub.ts";
import { modelBytes, sha256Of } from "../../../support/model-bytes.ts";
import { honest, modelServer } from "../../../support/model-server.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const [first, second] = ["1".repeat(40), "2".repeat(40)];

type Files = Readonly<Record<string, Uint8Array>>;

/** A hub whose branch can move; `files` of each commit, and the file that it has for Q8_0. */
async function movingHub(commits: Readonly<Record<string, Files>>, isSilent = false) {
  const state = { main: first, chosen: "m.gguf" };
  const server = await modelServer((asked) => {
    if (asked.path.startsWith("/v2/")) {
      return { status: 200, body: JSON.stringify({ ggufFile: { rfilename: state.chosen } }) };
    }
    const [, revision = "", file = ""] = /\/resolve\/([^/]+)\/(.+)$/.exec(asked.path) ?? [];
    const commit = revision === "main" ? state.main : revision;
    const bytes = commits[commit]?.[file];
    if (bytes === undefined) return { status: 404 };
    const answer = honest(bytes, `"${sha256Of(bytes)}"`)(asked);
    if (isSilent) return answer;
    return { ...answer, headers: { ...answer.headers, "x-repo-commit": commit } };
  });
  return { server, state, paths: () => server.asked.map(({ path }) => path) };
}

const source = "hf:owner/repo:Q8_0";

async function fetchInto(folder: string, url: string, options: Partial<DownloadOptions> = {}) {
  const said: string[] = [];
  const path = await download(source, {
    folder,
    hub: hubFrom({ HF_ENDPOINT: url }),
    progress: silentProgress,
    signal: new AbortController().signal,
    pauseMs: 1,
    say: (line) => said.push(line),
    ...options,
  });
  return { path, said, digest: sha256Of(await Bun.file(path).bytes()) };
}

const [old, young] = [modelBytes(20_000, 1), modelBytes(20_000, 2)];

describe("a model of the hub", () => {
  test("is fetched at the commit that its branch is at, and keeps it", async () => {
    const { server, state, paths } = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "m.gguf": young },
    });
    await using _ = server;
    await using folder = await tempDir();
    const { path, said, digest } = await fetchInto(folder.path, server.url);
    expect(digest).toBe(sha256Of(old));
    expect(said).toEqual([`'${source}' is pinned to the commit ${first}.`]);
    expect(paths().at(-1)).toBe(`/owner/repo/resolve/${first}/m.gguf`);
    state.main = second;
    expect((await fetchInto(folder.path, server.url)).said).toEqual([]);
    // Lost, it comes back as it was.
    await rm(path);
    expect((await fetchInto(folder.path, server.url)).digest).toBe(sha256Of(old));
    expect(paths().at(-1)).toBe(`/owner/repo/resolve/${first}/m.gguf`);
  });

  test("comes with parts of one commit, though its branch moves between them", async () => {
    const [one, two] = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"] as const;
    const { server, state } = await movingHub({
      [first]: { [one]: old, [two]: old },
      [second]: { [one]: young, [two]: young },
    });
    await using _ = server;
    state.chosen = one;
    await using folder = await tempDir();
    const { path } = await fetchInto(folder.path, server.url);
    await rm(path.replace("00001-of", "00002-of"));
    state.main = second;
    await fetchInto(folder.path, server.url);
    const last = await Bun.file(path.replace("00001-of", "00002-of")).bytes();
    expect(sha256Of(last)).toBe(sha256Of(old));
  });

  test("moves when it is pulled again, and says so", async () => {
    const { server, state } = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "m.gguf": young },
    });
    await using _ = server;
    await using folder = await tempDir();
    const { path } = await fetchInto(folder.path, server.url);
    const renew = () => fetchInto(folder.path, server.url, { renew: true });
    expect((await renew()).said).toEqual([]);
    state.main = second;
    expect(await renew()).toEqual({
      path,
      said: [`'${source}' moved from the commit ${first} to the commit ${second}.`],
      digest: sha256Of(young),
    });
    expect((await renew()).said).toEqual([]);
    expect((await readdir(folder.path)).sort()).toEqual([
      "digests.json",
      "hf_owner_repo_m.gguf",
      "hf_owner_repo_m.gguf.origin.json",
    ]);
  });

  test("is not fetched again where the new commit has the same weights", async () => {
    const { server, state } = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "m.gguf": old },
    });
    await using _ = server;
    await using folder = await tempDir();
    await fetchInto(folder.path, server.url);
    state.main = second;
    const asked = server.asked.length;
    const { said } = await fetchInto(folder.path, server.url, { renew: true });
    expect(said).toEqual([
      `'${source}' moved from the commit ${first} to the commit ${second}; its weights are the same.`,
    ]);
    expect(server.asked.slice(asked).filter(({ path }) => path.includes(second))).toEqual([
      expect.objectContaining({ method: "HEAD" }),
    ]);
  });

  test("stays where what it would move to has not the digest that it must have", async () => {
    const { server, state } = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "m.gguf": young },
    });
    await using _ = server;
    await using folder = await tempDir();
    const { path } = await fetchInto(folder.path, server.url);
    state.main = second;
    const options = { renew: true, sha256: sha256Of(old) };
    await expect(fetchInto(folder.path, server.url, options)).rejects.toThrow("was removed");
    expect(sha256Of(await Bun.file(path).bytes())).toBe(sha256Of(old));
    expect((await fetchInto(folder.path, server.url)).digest).toBe(sha256Of(old));
  });

  test("stays where the hub is away, with a line that says so", async () => {
    const { server } = await movingHub({ [first]: { "m.gguf": old } });
    await using folder = await tempDir();
    await fetchInto(folder.path, server.url);
    await server[Symbol.asyncDispose]();
    const { said, digest } = await fetchInto(folder.path, "http://127.0.0.1:9", { renew: true });
    expect(digest).toBe(sha256Of(old));
    expect(said).toEqual([expect.stringContaining("cannot be reached")]);
  });

  test("is another file where the hub has another for the form", async () => {
    const { server, state } = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "better.gguf": young },
    });
    await using _ = server;
    await using folder = await tempDir();
    const { path: before } = await fetchInto(folder.path, server.url);
    Object.assign(state, { main: second, chosen: "better.gguf" });
    const { path, said } = await fetchInto(folder.path, server.url, { renew: true });
    expect(path).toEndWith("better.gguf");
    expect(said[0]).toBe(
      `'${source}' is another file now: better.gguf, before m.gguf, which stays.`,
    );
    expect(await Bun.file(before).exists()).toBe(true);
    expect((await fetchInto(folder.path, server.url)).path).toBe(path);
  });

  test("of which nothing came is not pinned", async () => {
    const { server, state } = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "m.gguf": young },
    });
    await using _ = server;
    await using folder = await tempDir();
    const options = { sha256: sha256Of(young) };
    await expect(fetchInto(folder.path, server.url, options)).rejects.toThrow("was removed");
    state.main = second;
    expect((await fetchInto(folder.path, server.url, options)).digest).toBe(sha256Of(young));
  });

  test("is not pinned where the hub does not tell the commit, and that is said", async () => {
    const { server } = await movingHub({ [first]: { "m.gguf": old } }, true);
    await using _ = server;
    await using folder = await tempDir();
    expect((await fetchInto(folder.path, server.url)).said).toEqual([
      `The hub does not say which commit '${source}' is of, so it is not pinned.`,
    ]);
  });

  test("that an earlier version fetched is used as it is, and pinned when it is pulled again", async () => {
    const { server } = await movingHub({ [first]: { "m.gguf": old } });
    await using _ = server;
    await using folder = await tempDir();
    const path = join(folder.path, "hf_owner_repo_m.gguf");
    await writeFile(path, old);
    await writeFile(`${path}.origin.json`, JSON.stringify({ source }));
    expect(await fetchInto(folder.path, server.url)).toMatchObject({ path, said: [] });
    expect(server.asked).toEqual([]);
    expect((await fetchInto(folder.path, server.url, { renew: true })).said).toEqual([
      `'${source}' moved to the commit ${first}; its weights are the same.`,
    ]);
  });
});
