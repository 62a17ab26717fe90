import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { cp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PassageRepository } from "../../src/core/ports/passage-repository.ts";
import { QdrantCollectionStore } from "../../src/store/qdrant/qdrant-collections.ts";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { collect } from "../support/collect.ts";
import { type PaddockOptions, runPaddock, startPaddock } from "../support/paddock-process.ts";
import { passage } from "../support/passages.ts";
import { type QdrantUnderTest, qdrantForTests } from "../support/qdrant-server.ts";
import { silentLog } from "../support/silence.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { specOf } from "../support/test-models.ts";
import { tinyEmbeddingConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const documents = {
  "a.md": "# one\n\nllamas hum.\n\n# two\n\nroses bloom.",
  "b.txt": "a note.",
};

interface Place extends TempDir {
  /** Ingests one of the documents, from wherever it is. */
  ingest(name: keyof typeof documents, ...args: string[]): ReturnType<typeof runPaddock>;
  paddock(...args: string[]): ReturnType<typeof runPaddock>;
  run(args: string[], options?: Partial<PaddockOptions>): ReturnType<typeof runPaddock>;
}

/** A folder whose collection `default` has three passages of two documents; nothing is changed in it. */
let filled: Place;

beforeAll(async () => {
  filled = placeIn(await tempDir());
  await writeFile(join(filled.path, "paddock.toml"), await tinyEmbeddingConfig());
  for (const name of ["a.md", "b.txt"] as const) expect((await filled.ingest(name)).code).toBe(0);
});
afterAll(() => filled[Symbol.asyncDispose]());

function placeIn(folder: TempDir): Place {
  const run = (args: string[], options: Partial<PaddockOptions> = {}) =>
    runPaddock(args, { cwd: folder.path, ...options });
  return {
    ...folder,
    run,
    paddock: (...args) => run(args),
    ingest: (name, ...args) =>
      run(["ingest", "-", "--name", name, ...args], { input: documents[name] }),
  };
}

/** The same, to be changed. */
async function place(): Promise<Place> {
  const folder = await tempDir();
  await cp(filled.path, folder.path, { recursive: true });
  return placeIn(folder);
}

describe("paddock collections", () => {
  test("lists what there is, for people and for programs", async () => {
    const { stdout, code } = await filled.paddock("collections", "list");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^NAME +PASSAGES +DOCUMENTS +DIMENSION +DISTANCE +MODEL +URL\ndefault +3 +2 +32 +cosine +tiny-embedding +embedded\n$/,
    );
    const json = await filled.paddock("collections", "list", "--json");
    expect(JSON.parse(json.stdout)).toEqual([
      {
        name: "default",
        passages: 3,
        documents: 2,
        dimension: 32,
        distance: "cosine",
        model: "tiny-embedding",
        url: "embedded",
      },
    ]);
    expect((await filled.paddock("collections", "count")).stdout).toBe("3\n");
  });

  test("says where there is none what makes one", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
    const { code, stderr } = await runPaddock(["collections", "list"], { cwd: folder.path });
    expect([code, stderr]).toEqual([0, expect.stringContaining("'paddock ingest PATH' makes one")]);
    const missing = await runPaddock(["collections", "count", "x"], { cwd: folder.path });
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining("There is no collection 'x'."),
    ]);
  });

  test("exports a collection that is imported as it was", async () => {
    await using folder = await place();
    const first = await folder.paddock("collections", "export", "--output", "out.jsonl");
    expect(first.code).toBe(0);
    const again = await folder.paddock("collections", "export", "--output", "out.jsonl");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is there already")]);
    const link = join(folder.path, "link.jsonl");
    await symlink(join(folder.path, "disk-that-is-away", "out.jsonl"), link);
    const onto = await folder.paddock("collections", "export", "--output", link);
    expect([onto.code, onto.stderr]).toEqual([1, expect.stringContaining("is there already")]);
    const args = ["collections", "import", "out.jsonl", "--collection", "copy"];
    const { stdout, stderr } = await folder.run(args);
    expect(stdout).toBe("Imported 3 passages; the collection 'copy' now has 3.\n");
    expect(stderr).not.toContain("anew");
    const original = await Bun.file(join(folder.path, "out.jsonl")).text();
    const copied = (await folder.paddock("collections", "export", "copy")).stdout;
    expect(copied.replace('"name":"copy"', '"name":"default"')).toBe(original);
    expect((await folder.run(args)).stdout).toContain("now has 3.");
    const unchanged = await folder.ingest("a.md", "--collection", "copy");
    expect(unchanged.stdout).toContain("(1 unchanged)");
  });

  test("exports into no file that came meanwhile", async () => {
    await using folder = await place();
    const path = join(folder.path, "out.jsonl");
    const store = new SqliteCollectionStore(join(folder.path, ".paddock/collections"), silentLog);
    {
      await using repository = await store.create("many", specOf(2));
      await repository.upsert(Array.from({ length: 3000 }, (_, at) => passage(at, [1, 0])));
    }
    const come = setInterval(() => {
      if (!readdirSync(folder.path).some((name) => name.endsWith(".part"))) return;
      writeFileSync(path, "another's");
      clearInterval(come);
    }, 1);
    const { code, stderr } = await folder.paddock(
      "collections",
      "export",
      "many",
      "--output",
      path,
    );
    clearInterval(come);
    expect([code, stderr]).toEqual([1, expect.stringContaining("is there already")]);
    expect(await Bun.file(path).text()).toBe("another's");
    expect(readdirSync(folder.path).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  test("imports a larger collection as a whole", async () => {
    await using folder = await place();
    const [header] = (await folder.paddock("collections", "export")).stdout.split("\n");
    const vector = (at: number) => Array.from({ length: 32 }, (_, axis) => Math.sin(at * axis + 1));
    const lines = Array.from({ length: 1200 }, (_, at) =>
      JSON.stringify({ source: `note ${at}`, vector: vector(at) }),
    );
    const args = ["collections", "import", "-", "--collection", "large"];
    const input = [header, ...lines].join("\n");
    const { stdout, stderr } = await folder.run(args, { input });
    expect(stderr).not.toContain("embedded again");
    expect(stdout).toContain("now has 1200.");
    expect(stderr).not.toContain("index of a collection");
  });

  test("embeds what comes without a vector, or with another model's", async () => {
    await using folder = await place();
    const args = ["collections", "import", "-", "--collection", "new"];
    const plain = await folder.run(args, { input: '{"source":"one"}\n{"source":"two"}\n' });
    expect(plain.stdout).toBe("Imported 2 passages; the collection 'new' now has 2.\n");
    const lines = (await folder.paddock("collections", "export")).stdout;
    const foreign = lines.replace(/"fingerprint":"\w+"/, '"fingerprint":"other"');
    const { stdout, stderr } = await folder.run(args, { input: foreign });
    expect(stdout).toContain("now has 5.");
    expect(stderr).toContain("are embedded again with 'tiny-embedding'");
    const bad = await folder.run(args, { input: '{"source":"three"}\n{"text":"no"}\n' });
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("Line 2 has no text")]);
  });

  test("cuts what is too long for the model, and embeds anew what had another prefix", async () => {
    await using folder = await place();
    const args = ["collections", "import", "-", "--collection", "new"];
    const long = JSON.stringify({ source: "many words here. ".repeat(20) });
    const { stdout, stderr } = await folder.run(args, { input: `${long}\n` });
    expect(stderr).toContain("1 were too long for the model, and were cut.");
    expect(Number(/Imported (\d+) passages/.exec(stdout)?.[1])).toBeGreaterThan(3);
    const lines = (await folder.paddock("collections", "export")).stdout;
    const prefixed = lines.replace('"documentPrefix":""', '"documentPrefix":"passage: "');
    const again = await folder.run(["collections", "import", "-", "--collection", "third"], {
      input: prefixed,
    });
    expect(again.stderr).toContain("with the prefix 'passage: '; its passages are embedded again");
  });

  test.each(["../up", "a/b", "a.b"])("takes no name that leads elsewhere: %s", async (name) => {
    for (const args of [
      ["drop", name, "--yes"],
      ["count", name],
      ["export", name],
    ]) {
      const { code, stderr } = await filled.paddock("collections", ...args);
      expect([code, stderr]).toEqual([1, expect.stringContaining("cannot be the name")]);
    }
  });

  test("lists the others where one is damaged", async () => {
    await using folder = await place();
    await writeFile(join(folder.path, ".paddock/collections/bad.sqlite"), "no database".repeat(99));
    const { stdout, stderr } = await folder.paddock("collections", "list");
    expect(stdout).toMatch(/^default +3/m);
    expect(stderr).toContain("The collection 'bad' cannot be opened");
  });

  test("drops one only when told so", async () => {
    await using folder = await place();
    const asked = await folder.paddock("collections", "drop", "default");
    expect([asked.code, asked.stderr]).toEqual([
      1,
      expect.stringContaining("Nobody is here to ask; say --yes."),
    ]);
    const { stdout } = await folder.paddock("collections", "drop", "default", "--yes");
    expect(stdout).toBe("Removed the collection 'default' with its 3 passages.\n");
    expect((await folder.paddock("collections", "list")).stdout).toBe("");
  });

  test("is embedded again for another model of the configuration, and goes on where it ended", async () => {
    await using folder = await place();
    const toml = await Bun.file(join(folder.path, "paddock.toml")).text();
    const [section = ""] = /\[\[models\]\][^[]*tiny-embedding[^[]*/.exec(toml) ?? [];
    const second = section.replace("tiny-embedding.gguf", "other-embedding.gguf");
    await writeFile(
      join(folder.path, "paddock.toml"),
      `${toml}\n${second.replace(/name = "[^"]+"/, 'name = "other"')}`,
    );
    const copyTo = (...args: string[]) => folder.paddock("collections", "copy", "default", ...args);
    expect((await copyTo("--model", "other")).stderr).toContain("onto itself: name another");
    expect((await copyTo("--to", "sqlite")).stderr).toContain("--to is 'sqlite'; give 'embedded'");
    expect((await copyTo("--model", "none", "--as", "b")).stderr).toContain(
      "There is no embedding model 'none' in the configuration (tiny-embedding, other).",
    );
    const first = await copyTo("--model", "other", "--as", "anew");
    expect(first.stdout).toBe("Embedded 3 passages; 'anew' at embedded now has 3.\n");
    const again = await copyTo("--model", "other", "--as", "anew");
    expect(again.stdout).toBe(
      "Embedded 0 passages (3 were there already); 'anew' at embedded now has 3.\n",
    );
    const listed = await folder.paddock("collections", "list");
    expect(listed.stdout).toMatch(/anew +3 +2 +\d+ +cosine +other/);
    const sourcesOf = async (name: string): Promise<{ source: string; vector: unknown }[]> => {
      const { stdout } = await folder.paddock("collections", "export", name);
      const [, ...lines] = stdout.trim().split("\n");
      return lines.map((line) => JSON.parse(line));
    };
    const [before, after] = [await sourcesOf("default"), await sourcesOf("anew")];
    expect(after.map(({ source }) => source)).toEqual(before.map(({ source }) => source));
    expect(after.map(({ vector }) => vector)).not.toEqual(before.map(({ vector }) => vector));
    const served = (await Bun.file(join(folder.path, "paddock.toml")).text()).replace(
      "[vectorstore]",
      '[vectorstore]\nembedding_model = "other"',
    );
    await writeFile(join(folder.path, "paddock.toml"), served);
    const ingested = await folder.ingest("b.txt", "--collection", "anew");
    expect(ingested.stdout).toContain("(1 unchanged)");
  });

  test("refuses a collection of another model, and the way that it names mends it", async () => {
    await using folder = await place();
    const toml = await Bun.file(join(folder.path, "paddock.toml")).text();
    await writeFile(
      join(folder.path, "paddock.toml"),
      toml.replace("tiny-embedding.gguf", "other-embedding.gguf"),
    );
    const serve = await folder.paddock("serve", "--port", "0");
    expect([serve.code, serve.stderr]).toEqual([
      1,
      expect.stringMatching(/was filled by the model 'tiny-embedding' .*of the same name but/),
    ]);
    const [, named = ""] = /'paddock (collections [^']+)'/.exec(serve.stderr) ?? [];
    expect((await folder.run(named.split(" "))).stdout).toContain("now has 3.");
    const [, other = ""] = /collection_name = "([^"]+)"/.exec(serve.stderr) ?? [];
    const ingested = await folder.ingest("b.txt", "--collection", other);
    expect(ingested.stdout).toContain("(1 unchanged)");
  });
});

const qdrant = qdrantForTests();
let started: QdrantUnderTest | undefined;
afterAll(async () => started?.[Symbol.asyncDispose]());

// Without a Qdrant server there is one store only.
describe.skipIf(qdrant === undefined)("a collection between two stores", () => {
  /** A name at the server that is free again afterwards. */
  async function atServer(name: string) {
    started ??= await qdrant?.start();
    const { url = "", apiKey } = started ?? {};
    const store = new QdrantCollectionStore({ url, ...(apiKey === undefined ? {} : { apiKey }) });
    const env: Record<string, string> =
      apiKey === undefined ? {} : { PADDOCK_VECTORSTORE_API_KEY: apiKey };
    return { url, store, env, [Symbol.asyncDispose]: () => store.drop(name) };
  }

  test("is copied on where a copy was killed, there and back: nothing is lost or doubled", async () => {
    const name = `paddock-test-killed-${process.pid}`;
    await using server = await atServer(name);
    const { url, env } = server;
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyEmbeddingConfig());
    const embedded = new SqliteCollectionStore(
      join(folder.path, ".paddock/collections"),
      silentLog,
    );
    const many = Array.from({ length: 4000 }, (_, at) =>
      passage(at, [Math.sin(at), Math.cos(at), 1], { document: `${at % 50}.md`, parts: 80 }),
    );
    {
      await using source = await embedded.create(name, specOf(3));
      await source.upsert(many);
    }
    const ways = [
      { args: ["--to", url], target: server.store },
      { args: ["--vectorstore-url", url, "--to", "embedded", "--as", "back"], target: embedded },
    ];
    for (const { args, target } of ways) {
      const command = ["collections", "copy", name, ...args];
      const called = args.at(-2) === "--as" ? "back" : name;
      const copied = async (): Promise<number> => {
        await using there = await target.open(called);
        return (await there?.count()) ?? 0;
      };
      await using first = startPaddock(command, { cwd: folder.path, env });
      await waitFor("some of them", async () => (await copied()) > 0, 20);
      first.process.kill("SIGKILL");
      await first.exit();
      const there = await copied();
      const again = await runPaddock(command, { cwd: folder.path, env });
      const [, added, before] = /Copied (\d+) passages \((\d+) were/.exec(again.stdout) ?? [];
      // Of what was on its way, the last batch may have arrived.
      expect(Number(before)).toBeGreaterThanOrEqual(there);
      expect(Number(added) + Number(before)).toBe(many.length);
      expect(await copied()).toBe(many.length);
      const third = await runPaddock(command, { cwd: folder.path, env });
      expect(third.stdout).toContain("Copied 0 passages (4000 were there already)");
    }
    await using source = await embedded.open(name);
    await using back = await embedded.open("back");
    if (source === undefined || back === undefined) throw new Error("both are there");
    const sorted = async (collection: PassageRepository) =>
      (await collect(collection.passages()))
        .map(({ vector, ...rest }) => rest)
        .sort((a, b) => a.id.localeCompare(b.id));
    expect(await sorted(back)).toEqual(await sorted(source));
  });

  test("says what it does not copy, and removes nothing", async () => {
    const name = `paddock-test-beside-${process.pid}`;
    await using server = await atServer(name);
    const { url, store, env } = server;
    await using folder = await place();
    const copy = () =>
      folder.run(["collections", "copy", "default", "--to", `${url}/`, "--as", name], { env });
    expect((await copy()).code).toBe(0);
    await using there = await store.open(name);
    const [some] = await collect(there?.passages() ?? none());
    if (there === undefined || some === undefined) throw new Error("it was just copied");
    const id = "00000000-0000-4000-8000-000000000001";
    await there.upsert([
      { ...some, id, document: "other.md" },
      { ...some, heading: "Old" },
    ]);
    const again = await copy();
    expect(again.stdout).toContain("Copied 1 passages (2 were there already)");
    expect(again.stderr).toContain("1 passages there are not in 'default'; nothing is removed.");
    expect((await there.read([some.id]))[0]?.heading).toBe(some.heading);
    const onto = ["collections", "copy", name, "--vectorstore-url", url, "--to", `${url}/`];
    expect((await folder.run(onto, { env })).stderr).toContain("cannot be copied onto itself");
  });

  test("is copied there and back, and is the same", async () => {
    const name = `paddock-test-copy-${process.pid}`;
    await using server = await atServer(name);
    const { url, env } = server;
    await using folder = await place();
    const there = await folder.run(["collections", "copy", "default", "--to", url, "--as", name], {
      env,
    });
    expect(there.stdout).toBe(`Copied 3 passages; '${name}' at ${url} now has 3.\n`);
    const back = await folder.run(
      ["collections", "copy", name, "--vectorstore-url", url, "--to", "embedded", "--as", "back"],
      { env },
    );
    expect(back.stdout).toBe("Copied 3 passages; 'back' at embedded now has 3.\n");
    const sorted = async (collection: string): Promise<string[]> => {
      const { stdout } = await folder.paddock("collections", "export", collection);
      return stdout.trim().split("\n").slice(1).sort();
    };
    expect(await sorted("back")).toEqual(await sorted("default"));
    const listed = await folder.run(["collections", "list", "--vectorstore-url", url], { env });
    expect(listed.stdout).toMatch(new RegExp(`${name} +3 +2 +32 +cosine +tiny-embedding`));
  });
});

async function* none(): AsyncGenerator<never> {}
