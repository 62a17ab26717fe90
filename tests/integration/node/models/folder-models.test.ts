import { beforeEach, describe, expect, test } from "bun:test";
import { copyFile, mkdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { untilAborted } from "../../../../src/core/abort.ts";
import { NodeError } from "../../../../src/core/errors.ts";
import { ModelActivities } from "../../../../src/core/models/model-activity.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import { noteOrigin } from "../../../../src/models/models-folder.ts";
import { starterChat, starterEmbedding } from "../../../../src/models/starter-models.ts";
import { findFolderModels } from "../../../../src/node/models/folder-models.ts";
import { FolderLibrary, readFolder } from "../../../../src/node/models/model-library.ts";
import { bareNodeOptions } from "../../../support/bare-node.ts";
import { modelServer } from "../../../support/model-server.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { ScriptedChatEngine } from "../../../support/scripted-engines.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { chatModel } from "../../../support/test-models.ts";
import { tinyModels } from "../../../support/tiny-models.ts";
import { waitFor } from "../../../support/wait-for.ts";

let dataDir: string;

beforeEach(async () => {
  dataDir = (await tempDir()).path;
  await mkdir(join(dataDir, "models"));
});

const options = (toml = "") => ({
  ...bareNodeOptions({ toml, env: { PADDOCK_DATA_DIR: dataDir, PADDOCK_ISOLATION: "process" } }),
  version: "1.0.0",
});

/** A file in the folder, from that source, made so many seconds ago. */
async function put(
  file: string,
  {
    of = "chat",
    source,
    ago = 0,
  }: { of?: "chat" | "embedding"; source?: string; ago?: number } = {},
): Promise<void> {
  const path = join(dataDir, "models", file);
  await copyFile((await tinyModels())[of], path);
  if (source !== undefined) await noteOrigin(path, source);
  const time = Date.now() / 1000 - ago;
  await utimes(path, time, time);
}

const found = async (toml?: string): Promise<[string, string, boolean][]> =>
  (await findFolderModels(options(toml))).map(({ model, isPulled }) => {
    return [model.name, model.type, isPulled];
  });

describe("the models folder", () => {
  test("has models under the names that pull prints, or their files' own", async () => {
    await put("hf_owner_repo_m-Q4.gguf", { source: "hf:owner/repo:Q4_K_M", ago: 2 });
    await put("by-hand.gguf", { of: "embedding" });
    expect(await found()).toEqual([
      ["repo-Q4_K_M", "chat", true],
      ["by-hand", "embedding", false],
    ]);
  });

  test("leaves an older model its name", async () => {
    await put("hf_b_repo_m.gguf", { source: "hf:b/repo:Q4", ago: 9 });
    await put("hf_a_repo_m.gguf", { source: "hf:a/repo:Q4" });
    expect((await found()).map(([name]) => name)).toEqual(["repo-Q4", "hf_a_repo_m"]);
  });

  test("has no model that is the node's own, unfinished, unreadable, or in a section", async () => {
    const own = [starterChat.file, starterEmbedding.file];
    const made = ["m.from-1f5ff7382583babb.q8_0.gguf", "next_m.gguf", "split-00001-of-00002.gguf"];
    for (const file of [...own, ...made, "mine.gguf"]) await put(file);
    await writeFile(join(dataDir, "models", "broken.gguf"), "not a model");
    await writeFile(join(dataDir, "models", "half.gguf.part"), "GGUF");
    const source = JSON.stringify(join(dataDir, "models", "mine.gguf"));
    expect(await found(`[[models]]\nname = "a"\ntype = "chat"\nsource = ${source}`)).toEqual([]);
    await put("other.gguf");
    expect((await found()).map(([name]) => name).sort()).toEqual(["mine", "other"]);
  });

  test("has no model of a section that names the file by another way", async () => {
    await put("mine.gguf", { source: "hf:owner/repo/mine.gguf" });
    const link = join(dataDir, "link");
    await symlink(join(dataDir, "models"), link);
    const source = JSON.stringify(join(link, "mine.gguf"));
    expect(await found(`[[models]]\nname = "a"\ntype = "chat"\nsource = ${source}`)).toEqual([]);
  });

  test("has no model that a section chose by itself", async () => {
    await put("m.gguf", { source: "hf:owner/repo:Q4" });
    const toml = `[models_folder]\nserve = "all"\n[[models]]\nname = "a"\ntype = "chat"\nsource = "auto"`;
    const state = await readFolder(options(toml));
    expect(state.config.models.map(({ source }) => basename(source))).toEqual(["m.gguf"]);
    expect(state.found).toEqual([]);
  });

  test("has no control characters in a name", async () => {
    await put("a\nb\u007f.gguf");
    expect((await found()).map(([name]) => name)).toEqual(["a_b_"]);
  });

  test("has a model whose source leaves it no name under its file's", async () => {
    await put("hf_owner_repo_sub_.gguf", { source: "hf:owner/repo/sub/.gguf", ago: 2 });
    await put(".gguf");
    expect(await found()).toEqual([["hf_owner_repo_sub_", "chat", true]]);
  });

  test("does not wait for a pipe", async () => {
    expect(Bun.spawnSync(["mkfifo", join(dataDir, "models", "pipe.gguf")]).exitCode).toBe(0);
    await put("m.gguf");
    expect((await found()).map(([name]) => name)).toEqual(["m"]);
  });

  test("reads a file again only if it changed", async () => {
    await put("m.gguf", { ago: 5 });
    const known = await findFolderModels(options());
    const [same] = await findFolderModels(options(), known);
    expect(same?.facts).toBe(known[0]?.facts ?? expect.unreachable());
    await put("m.gguf");
    const [changed] = await findFolderModels(options(), known);
    expect(changed?.facts).not.toBe(known[0]?.facts ?? expect.unreachable());
  });
});

describe("the starter chat model", () => {
  const served = async (toml?: string): Promise<string[]> =>
    (await readFolder(options(toml))).config.models.map(({ source }) => source);

  test("gives way to a chat model that fits, and stays beside one that does not", async () => {
    expect(await served()).toEqual(["starter:chat", "starter:embedding"]);
    await put("vectors.gguf", { of: "embedding" });
    expect(await served()).toEqual(["starter:chat", "starter:embedding"]);
    await put("m.gguf");
    expect(await served()).toEqual(["starter:embedding"]);
    expect(await served("[engine]\nmemory_limit = 1")).toEqual([
      "starter:chat",
      "starter:embedding",
    ]);
    await rm(join(dataDir, "models", "m.gguf"));
    expect(await served()).toEqual(["starter:chat", "starter:embedding"]);
  });

  test("stays where a section names it", async () => {
    await put("m.gguf");
    const toml = `[models_folder]\nserve = "all"\n[[models]]\nname = "t"\ntype = "chat"\nsource = "starter:chat"`;
    expect(await served(toml)).toEqual(["starter:chat"]);
  });
});

async function openLibrary(
  endpoint = "",
): Promise<{ library: FolderLibrary; models: ModelRegistry }> {
  const pulling = { ...options('[models_folder]\npull_from = ["hf:"]'), hub: { endpoint } };
  const models = new ModelRegistry([]);
  const watched = { [Symbol.dispose]: () => {} };
  const library = new FolderLibrary(
    {
      ...{ options: pulling, models, activities: new ModelActivities([]) },
      telemetry: { addModel: () => watched, watchMemory: () => watched },
      stopping: new AbortController().signal,
    },
    await readFolder(options()),
  );
  return { library, models };
}

test("a folder whose disk hangs keeps no caller waiting, and is read when it answers", async () => {
  await put("m.gguf", { ago: 5 });
  const { library, models } = await openLibrary();
  const names = (): string[] => models.all().map(({ card }) => card.name);
  await put("late.gguf");
  // Who reads a pipe waits until somebody writes to it, as on a disk that hangs.
  const note = join(dataDir, "models", "late.gguf.origin.json");
  expect(Bun.spawnSync(["mkfifo", note]).exitCode).toBe(0);
  await Promise.all([library.refresh(), library.refresh()]);
  expect(names()).toEqual(["m"]);
  await Promise.all([writeFile(note, "{}"), waitFor("it", () => names().length === 2)]);
  expect(names().sort()).toEqual(["late", "m"]);
});

test("a removal waits for the model's last answer, which no new one follows", async () => {
  await put("hf_owner_repo_m-Q4.gguf", { source: "hf:owner/repo:Q4_K_M" });
  await using hub = await modelServer(() => ({ status: 404 }));
  const { library, models } = await openLibrary(hub.url);
  const answered = Promise.withResolvers<void>();
  const loaded = {
    ...chatModel("repo-Q4_K_M", new ScriptedChatEngine()),
    unload: (signal: AbortSignal) => untilAborted(answered.promise, signal),
  };
  library.open({ load: async () => loaded });
  await models.find("repo-Q4_K_M").load?.(new AbortController().signal);
  const removed = library.remove("repo-Q4_K_M");
  expect(models.typeOf("repo-Q4_K_M")).toBeUndefined();
  expect(await found()).toHaveLength(1);
  // What is about to go is not taken for what was pulled.
  const pulled = rejectionOf(
    library.pull("hf:owner/repo:Q4_K_M", { signal: new AbortController().signal }),
  );
  answered.resolve();
  await removed;
  expect(await found()).toEqual([]);
  expect(await pulled).toBeInstanceOf(NodeError);
});
