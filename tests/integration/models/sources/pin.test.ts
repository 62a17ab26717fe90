import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Progress } from "../../../../src/core/progress.ts";
import { removeModel } from "../../../../src/models/models-folder.ts";
import { type DownloadOptions, download } from "../../../../src/models/sources/download.ts";
import { hubFrom } from "../../../../src/models/sources/hub-reference.ts";
import { modelBytes, sha256Of } from "../../../support/model-bytes.ts";
import { honest, modelServer } from "../../../support/model-server.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const [first, second] = ["1".repeat(40), "2".repeat(40)];

type Files = Readonly<Record<string, Uint8Array>>;

const source = "hf:owner/repo:Q8_0";
const [old, young] = [modelBytes(20_000, 1), modelBytes(20_000, 2)];

/** The same file at two commits, with other weights. */
const changed = { [first]: { "m.gguf": old }, [second]: { "m.gguf": young } };

/** A hub whose branch can move, and a folder to fetch into; `commits` has the files of each. */
async function movingHub(commits: Readonly<Record<string, Files>>, isSilent = false) {
  /** Where the branch is, and the file that the hub has for Q8_0. */
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
  const folder = await tempDir();
  return {
    state,
    folder: folder.path,
    asked: server.asked,
    paths: () => server.asked.map(({ path }) => path),
    fetch: (options: Partial<DownloadOptions> = {}) =>
      fetchInto(folder.path, { hub: hubFrom({ HF_ENDPOINT: server.url }), ...options }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function fetchInto(
  folder: string,
  options: Pick<DownloadOptions, "hub"> & Partial<DownloadOptions>,
) {
  const said: string[] = [];
  const path = await download(source, {
    folder,
    progress: silentProgress,
    signal: new AbortController().signal,
    pauseMs: 1,
    say: (line) => said.push(line),
    ...options,
  });
  return { path, said, digest: sha256Of(await Bun.file(path).bytes()) };
}

describe("a model of the hub", () => {
  test("is fetched at the commit that its branch is at, and keeps it", async () => {
    await using hub = await movingHub(changed);
    const { path, said, digest } = await hub.fetch();
    expect(digest).toBe(sha256Of(old));
    expect(said).toEqual([`'${source}' is pinned to the commit ${first}.`]);
    expect(hub.paths().at(-1)).toBe(`/owner/repo/resolve/${first}/m.gguf`);
    hub.state.main = second;
    expect((await hub.fetch()).said).toEqual([]);
    // Lost, it comes back as it was.
    await rm(path);
    expect((await hub.fetch()).digest).toBe(sha256Of(old));
    expect(hub.paths().at(-1)).toBe(`/owner/repo/resolve/${first}/m.gguf`);
  });

  test("comes with parts of one commit, though its branch moves between them", async () => {
    const [one, two] = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"] as const;
    await using hub = await movingHub({
      [first]: { [one]: old, [two]: old },
      [second]: { [one]: young, [two]: young },
    });
    hub.state.chosen = one;
    const { path } = await hub.fetch();
    await rm(path.replace("00001-of", "00002-of"));
    hub.state.main = second;
    await hub.fetch();
    const last = await Bun.file(path.replace("00001-of", "00002-of")).bytes();
    expect(sha256Of(last)).toBe(sha256Of(old));
  });

  test("moves when it is pulled again, and says so", async () => {
    await using hub = await movingHub(changed);
    const { path } = await hub.fetch();
    const renew = () => hub.fetch({ renew: true });
    expect((await renew()).said).toEqual([]);
    hub.state.main = second;
    expect(await renew()).toEqual({
      path,
      said: [`'${source}' moved from the commit ${first} to the commit ${second}.`],
      digest: sha256Of(young),
    });
    expect((await renew()).said).toEqual([]);
    expect((await readdir(hub.folder)).sort()).toEqual([
      "digests.json",
      "hf_owner_repo_m.gguf",
      "hf_owner_repo_m.gguf.origin.json",
    ]);
  });

  test("is not removed while it moves, and does not come back where its file is removed all the same", async () => {
    await using hub = await movingHub(changed);
    const { path } = await hub.fetch();
    hub.state.main = second;
    const refused = Promise.withResolvers<unknown>();
    const step: Progress["step"] = (label, ...asked) => {
      if (label.startsWith("Downloading")) {
        refused.resolve(rejectionOf(removeModel(hub.folder, basename(path))));
        rmSync(path, { force: true });
      }
      return silentProgress.step(label, ...asked);
    };
    const moving = rejectionOf(hub.fetch({ renew: true, progress: { step } }));
    expect(await refused.promise).toMatchObject({ kind: "overloaded" });
    expect(await moving).toMatchObject({ message: expect.stringContaining("was removed") });
    expect(await removeModel(hub.folder, basename(path))).toBeGreaterThan(0);
    expect(await readdir(hub.folder)).toEqual(["digests.json"]);
  });

  test("is not fetched again where the new commit has the same weights", async () => {
    await using hub = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "m.gguf": old },
    });
    await hub.fetch();
    hub.state.main = second;
    const asked = hub.asked.length;
    const { said } = await hub.fetch({ renew: true });
    expect(said).toEqual([
      `'${source}' moved from the commit ${first} to the commit ${second}; its weights are the same.`,
    ]);
    expect(hub.asked.slice(asked).filter(({ path }) => path.includes(second))).toEqual([
      expect.objectContaining({ method: "HEAD" }),
    ]);
  });

  test("stays where what it would move to has not the digest that it must have", async () => {
    await using hub = await movingHub(changed);
    const { path } = await hub.fetch();
    hub.state.main = second;
    const options = { renew: true, sha256: sha256Of(old) };
    await expect(hub.fetch(options)).rejects.toThrow("was removed");
    expect(sha256Of(await Bun.file(path).bytes())).toBe(sha256Of(old));
    expect((await hub.fetch()).digest).toBe(sha256Of(old));
  });

  test("stays where the hub is away, with a line that says so", async () => {
    await using hub = await movingHub({ [first]: { "m.gguf": old } });
    await hub.fetch();
    const away = hubFrom({ HF_ENDPOINT: "http://127.0.0.1:9" });
    const { said, digest } = await hub.fetch({ hub: away, renew: true });
    expect(digest).toBe(sha256Of(old));
    expect(said).toEqual([expect.stringContaining("cannot be reached")]);
  });

  test("is another file where the hub has another for the form", async () => {
    await using hub = await movingHub({
      [first]: { "m.gguf": old },
      [second]: { "better.gguf": young },
    });
    const { path: before } = await hub.fetch();
    Object.assign(hub.state, { main: second, chosen: "better.gguf" });
    const { path, said } = await hub.fetch({ renew: true });
    expect(path).toEndWith("better.gguf");
    expect(said[0]).toBe(
      `'${source}' is another file now: better.gguf, before m.gguf, which stays.`,
    );
    expect(await Bun.file(before).exists()).toBe(true);
    expect((await hub.fetch()).path).toBe(path);
  });

  test("of which nothing came is not pinned", async () => {
    await using hub = await movingHub(changed);
    const options = { sha256: sha256Of(young) };
    await expect(hub.fetch(options)).rejects.toThrow("was removed");
    hub.state.main = second;
    expect((await hub.fetch(options)).digest).toBe(sha256Of(young));
  });

  test("is not pinned where the hub does not tell the commit, and that is said", async () => {
    await using hub = await movingHub({ [first]: { "m.gguf": old } }, true);
    expect((await hub.fetch()).said).toEqual([
      `The hub does not say which commit '${source}' is of, so it is not pinned.`,
    ]);
  });

  test("that an earlier version fetched is used as it is, and pinned when it is pulled again", async () => {
    await using hub = await movingHub({ [first]: { "m.gguf": old } });
    const path = join(hub.folder, "hf_owner_repo_m.gguf");
    await writeFile(path, old);
    await writeFile(`${path}.origin.json`, JSON.stringify({ source }));
    expect(await hub.fetch()).toMatchObject({ path, said: [] });
    expect(hub.asked).toEqual([]);
    expect((await hub.fetch({ renew: true })).said).toEqual([
      `'${source}' moved to the commit ${first}; its weights are the same.`,
    ]);
  });
});
