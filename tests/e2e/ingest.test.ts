import { describe, expect, test } from "bun:test";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { digest } from "../../src/ingest/passages.ts";
import { Readiness } from "../../src/server/operations/node/schema.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { DataDirLock } from "../../src/store/data-dir-lock.ts";
import { sqliteDocuments } from "../../src/store/documents/sqlite-documents.ts";
import { decode } from "../support/decode.ts";
import {
  type PaddockOptions,
  runPaddock,
  servePaddock,
  startPaddock,
} from "../support/paddock-process.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyEmbeddingConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

interface Place extends TempDir {
  write(files: Record<string, string>): Promise<void>;
  ingest(...args: string[]): ReturnType<typeof runPaddock>;
  /** The sources of the collection's passages by their document, as `export` gives them. */
  stored(): Promise<string[][]>;
}

async function place(files: Record<string, string> = {}): Promise<Place> {
  const folder = await tempDir();
  const run = (args: string[], options: Partial<PaddockOptions> = {}) =>
    runPaddock(args, { cwd: folder.path, ...options });
  const write = async (more: Record<string, string>): Promise<void> => {
    for (const [name, text] of Object.entries(more)) {
      const path = join(folder.path, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
  };
  await write({ "paddock.toml": await tinyEmbeddingConfig(), ...files });
  return {
    ...folder,
    write,
    ingest: (...args) => run(["ingest", ...args]),
    async stored() {
      const { stdout } = await run(["collections", "export"]);
      return stdout
        .trim()
        .split("\n")
        .slice(1)
        .map((line) => JSON.parse(line))
        .map(({ document, source }) => [document, source])
        .sort();
    },
  };
}

async function retrieve(origin: string, content: string): Promise<string[]> {
  const response = await fetch(`${origin}/v1/retrieve`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "tiny-embedding", messages: [{ role: "user", content }] }),
  });
  const { points } = await decode(RetrieveResult, response);
  return points.map(({ source }) => source).sort();
}

describe("paddock ingest", () => {
  test("shows no control character of a file's name, and escapes them in JSON", async () => {
    const hostile = "\u001b]0;title\u0007";
    await using folder = await place({
      [`docs/bad${hostile}.jsonl`]: '{"k\\u001b[8m": "x"}',
      [`docs/good${hostile}.md`]: "a note.",
      [`docs/other.x${hostile}`]: "",
    });
    await symlink("/etc/hostname", join(folder.path, `docs/out${hostile}.md`));
    const shown = await folder.ingest("docs", `docs/gone${hostile}`);
    expect(`${shown.stdout}${shown.stderr}`).not.toMatch(/[^\P{Cc}\n]/u);
    expect(shown.stdout).toContain("Left out: docs/out\uFFFD]0;title\uFFFD.md, since its link");
    expect(shown.stderr).toContain("docs/bad\uFFFD]0;title\uFFFD.jsonl: has no text field");
    const { stdout } = await folder.ingest("docs", "--json");
    expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
    expect(JSON.parse(stdout)).toMatchObject({
      documents: { unchanged: [`docs/good${hostile}.md`] },
      left_out: [{ path: `docs/out${hostile}.md`, reason: expect.stringContaining("leads out") }],
    });
  });

  test("adds files that a running node then retrieves, and replaces them", async () => {
    await using folder = await place({
      "animals.md": "# Animals\n\nllamas hum.\n\n# Plants\n\nroses bloom.",
      "notes.txt": "a plain note.",
    });
    await using node = await servePaddock({ cwd: folder.path });
    const first = await folder.ingest("animals.md", "notes.txt");
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(
      /^Stored 3 passages of 2 documents \(2 new\) in \d+\.\d s\.\nThe collection 'default' now has 3 passages\.\n$/,
    );
    expect(first.stderr).toContain("Storing passages");
    expect(await retrieve(node.origin, "llamas")).toEqual([
      "Animals\n\nllamas hum.",
      "Plants\n\nroses bloom.",
      "a plain note.",
    ]);
    await folder.write({ "animals.md": "# Animals\n\nllamas spit." });
    const second = await folder.ingest("animals.md", "notes.txt");
    expect(second.stdout).toContain("Stored 1 passages of 2 documents (1 changed, 1 unchanged)");
    expect(await retrieve(node.origin, "llamas")).toEqual([
      "Animals\n\nllamas spit.",
      "a plain note.",
    ]);
  });

  test.each([
    ["ingest", ["ingest", "notes"]],
    ["collections import", ["collections", "import", "all.jsonl"]],
    ["collections copy", ["collections", "copy", "all", "--as", "default"]],
  ])(
    "%s stores what a killed node had yet to delete, and no node deletes it then",
    async (_, args) => {
      await using folder = await place({
        "notes/a.md": "llamas hum.",
        "notes/b.md": "roses bloom.",
      });
      await folder.ingest("notes");
      const all = await folder.stored();
      const run = (...command: string[]) => runPaddock(command, { cwd: folder.path });
      await run("collections", "export", "--output", "all.jsonl");
      await run("collections", "copy", "default", "--as", "all");
      const data = join(folder.path, ".paddock");
      await using registry = sqliteDocuments(join(data, "documents.sqlite"));
      // As a node leaves them that is killed while another process keeps the collection locked.
      const pending = ["notes/a.md", "gone.md"].map((document) => ({
        ...{ collection: "default", document },
      }));
      const other = { collection: "other", document: "notes/b.md" };
      for (const removal of [...pending, other]) await registry.addRemoval(removal);
      {
        using node = new DataDirLock(join(data, "documents.lock"), "documents");
        expect(node.take()).toBe(true);
        const { code, stderr } = await run(...args);
        expect([code, stderr]).toEqual([1, expect.stringContaining("has yet to delete 'gone.md'")]);
        expect(await registry.removals()).toHaveLength(3);
      }
      const dry = await folder.ingest("notes", "--dry-run");
      expect([dry.code, (await registry.removals()).length]).toEqual([0, 3]);
      const { code, stdout } = await run(...args);
      expect(code).toBe(0);
      if (args[0] === "ingest") expect(stdout).toContain("(1 new, 1 unchanged)");
      expect(await registry.removals()).toEqual([other]);
      expect(await folder.stored()).toEqual(all);
    },
  );

  test("adds nothing to a collection that a node had yet to drop", async () => {
    await using folder = await place({ "a.md": "llamas hum." });
    await using registry = sqliteDocuments(join(folder.path, ".paddock", "documents.sqlite"));
    await registry.addRemoval({ collection: "default", document: undefined });
    const { code, stderr } = await folder.ingest("a.md");
    const said = "has yet to delete the collection 'default'";
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    expect(await folder.stored()).toEqual([]);
  });

  test("reports what it cannot read, stores the rest, and exits with 1", async () => {
    await using folder = await place({ "good.txt": "good.", "bad.jsonl": "{" });
    const files = ["good.txt", "missing.txt", "bad.jsonl", "data.xyz", "picture.png", "readme.md"];
    await folder.write({ "data.xyz": "not read", "picture.png": "not read" });
    await folder.write({ "readme.md": "PK\u0005\u0006".padEnd(22, "\0") });
    const { code, stdout, stderr } = await folder.ingest(...files);
    expect(code).toBe(1);
    expect(stdout).toContain("Stored 1 passages of 5 documents (1 new, 4 not read)");
    expect(stderr).toContain("missing.txt: there is no such file or folder.");
    expect(stderr).toMatch(/bad\.jsonl: .*line 1/i);
    expect(stderr).toMatch(/data\.xyz: .*\.xyz.*\.md/);
    expect(stderr).toContain("picture.png: is an image, and text in pictures is not read; run it");
    expect(stderr).toContain(
      "readme.md: is an archive (zip), and archives are not read; unpack it",
    );
    expect(stderr).toContain("Some documents were not read.");
  });

  test("takes folders and globs, and with --prune removes what is gone from them", async () => {
    await using folder = await place({
      "docs/a.md": "one.",
      "docs/sub/b.md": "two.",
      "docs/picture.png": "x",
      "other/c.md": "three.",
    });
    const first = await folder.ingest("docs", "other/*.md");
    expect(first.stdout).toContain("Stored 3 passages of 3 documents (3 new)");
    expect(first.stdout).toContain(
      "Left alone, since Paddock does not read them: 1 .png. Text in pictures is found by OCR; run it first",
    );
    await rm(join(folder.path, "docs/sub"), { recursive: true });
    await rm(join(folder.path, "other/c.md"));
    expect((await folder.ingest("docs")).stdout).toContain("now has 3 passages");
    const pruned = await folder.ingest("docs", "--prune");
    expect(pruned.stdout).toContain("Removed: docs/sub/b.md.");
    expect(await folder.stored()).toEqual([
      ["docs/a.md", "one."],
      ["other/c.md", "three."],
    ]);
    const rest = await folder.ingest("docs", "other", "--prune");
    expect(rest.stdout).toContain("Removed: other/c.md.");
    expect(rest.code).toBe(0);
  });

  test("says in a dry run what it would do, and does nothing", async () => {
    await using folder = await place({ "docs/a.md": "one.", "docs/b.md": "two." });
    await folder.ingest("docs");
    await folder.write({ "docs/a.md": "changed.", "docs/c.md": "new." });
    await rm(join(folder.path, "docs/b.md"));
    const { stdout, code } = await folder.ingest("docs", "--prune", "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toContain("Would store 2 passages of 2 documents (1 new, 1 changed)");
    expect(stdout).toContain("Would remove: docs/b.md.");
    expect(await folder.stored()).toEqual([
      ["docs/a.md", "one."],
      ["docs/b.md", "two."],
    ]);
  });

  test("makes nothing in a dry run, not even a collection", async () => {
    await using folder = await place({ "a.md": "one." });
    const { stdout } = await folder.ingest("a.md", "--dry-run");
    expect(stdout).toContain("Would store 1 passages of 1 document (1 new)");
    const listed = await runPaddock(["collections", "list"], { cwd: folder.path });
    expect([listed.stdout, listed.stderr]).toEqual(["", expect.stringContaining("no collection")]);
  });

  test("prunes only what came from the same folder", async () => {
    await using folder = await place({ "a.md": "one.", "elsewhere/b.md": "two." });
    await folder.ingest("a.md");
    const args = ["--config", "../paddock.toml", "--data-dir", "../.paddock"];
    const cwd = join(folder.path, "elsewhere");
    await runPaddock(["ingest", "-", "--name", "in.md", ...args], { cwd, input: "three." });
    const { stdout } = await runPaddock(["ingest", ".", "--prune", ...args], { cwd });
    expect(stdout).not.toContain("Removed");
    expect(await folder.stored()).toEqual([
      ["a.md", "one."],
      ["b.md", "two."],
      ["in.md", "three."],
    ]);
  });

  test("prunes no document whose file is there, and is left out unless it is named", async () => {
    await using outside = await place({ "far.md": "far." });
    await using folder = await place({
      ".drafts/a.md": "one.",
      "b.md": "two.",
      "gone.md": "three.",
    });
    await symlink(join(outside.path, "far.md"), join(folder.path, "link.md"));
    await folder.ingest(".drafts/a.md", "b.md", "gone.md", "link.md");
    await rm(join(folder.path, "gone.md"));
    const { stdout } = await folder.ingest(".", "--prune");
    expect(stdout).toContain("Removed: gone.md.");
    expect((await folder.stored()).map(([name]) => name)).toEqual([
      ".drafts/a.md",
      "b.md",
      "link.md",
    ]);
  });

  test("prunes no document of two versions that came from elsewhere, as after an interrupted run", async () => {
    await using folder = await place({ "a.md": "one." });
    await folder.ingest("a.md");
    const own = digest(folder.path).slice(0, 8);
    const twice = (document: string, hashes: readonly string[]) =>
      hashes.map((document_hash) =>
        JSON.stringify({ source: `${document} ${document_hash}.`, document, document_hash }),
      );
    const lines = [
      ...twice("page.md", ["stdin:1", "stdin:2"]),
      ...twice("file-1/b.md", ["upload:1", "upload:2"]),
      ...twice("mixed.md", ["stdin:1", `${own}:2`]),
      ...twice("gone.md", [`${own}:1`, `${own}:2`]),
    ];
    const imported = await runPaddock(["collections", "import", "-"], {
      cwd: folder.path,
      input: lines.join("\n"),
    });
    expect(imported.code).toBe(0);
    const { stdout } = await folder.ingest(".", "--prune");
    expect(stdout).toContain("Removed: gone.md.");
    const names = (await folder.stored()).map(([name]) => name);
    expect([...new Set(names)].sort()).toEqual(["a.md", "file-1/b.md", "mixed.md", "page.md"]);
  });

  test("keeps a folder of the user's that is called handbook", async () => {
    await using folder = await place({ "handbook/a.md": "one.", "b.md": "two." });
    await folder.ingest("handbook");
    await folder.ingest("b.md");
    expect(await folder.stored()).toEqual([
      ["b.md", "two."],
      ["handbook/a.md", "one."],
    ]);
  });

  test("reads standard input under the name that it is given", async () => {
    await using folder = await place();
    const args = ["ingest", "-", "--name", "page.html"];
    const input = "<title>llamas</title><p>they hum.</p>";
    const { code, stdout } = await runPaddock(args, { cwd: folder.path, input });
    expect(code).toBe(0);
    expect(stdout).toContain("Stored 1 passages of 1 document (1 new)");
    expect(await folder.stored()).toEqual([["page.html", "llamas\n\nthey hum."]]);
  });

  test("takes the column that it is told, and names the columns where it is told none", async () => {
    await using folder = await place({ "a.csv": "id,remark\n1,first.\n2,second.\n" });
    const none = await folder.ingest("a.csv");
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringMatching(/'id', 'remark'.*--text-field/),
    ]);
    const { stdout } = await folder.ingest("a.csv", "--text-field", "remark");
    expect(stdout).toContain("Stored 2 passages");
  });

  test("follows what changes until it is asked to stop", async () => {
    await using folder = await place({ "docs/a.md": "one." });
    await using watching = startPaddock(["ingest", "docs", "--watch", "--prune"], {
      cwd: folder.path,
    });
    const runs = (): number => watching.stdout().split("now has").length - 1;
    await waitFor("the watch", () => watching.stderr().includes("Watching for changes"));
    await folder.write({ "docs/b.md": "two." });
    await waitFor("the new file", () => watching.stdout().includes("now has 2 passages"));
    await folder.write({ "docs/a.md": "changed." });
    await waitFor("the changed file", () => watching.stdout().includes("(1 changed, 1 unchanged)"));
    await rm(join(folder.path, "docs/b.md"));
    await waitFor("the removed file", () => watching.stdout().includes("Removed: docs/b.md"));
    expect(runs()).toBeGreaterThanOrEqual(4);
    watching.process.kill("SIGINT");
    expect(await watching.exit()).toBe(0);
    expect(await folder.stored()).toEqual([["docs/a.md", "changed."]]);
  });

  test("follows each of several names that begin alike, and hidden ones that were named", async () => {
    const files = ["docs/a.md", "docs.d/b.md", "docs.md", "docs/.hidden/c.md"];
    await using folder = await place(Object.fromEntries(files.map((file) => [file, "one."])));
    await using watching = startPaddock(
      ["ingest", "docs", "docs.d", "docs.md", "docs/.hidden", "--watch"],
      { cwd: folder.path },
    );
    await waitFor("the watch", () => watching.stderr().includes("Watching for changes"));
    for (const [at, file] of files.entries()) {
      await folder.write({ [file]: "changed." });
      const changed = () => watching.stdout().split("(1 changed, 3 unchanged)").length - 1;
      await waitFor(`the change of ${file}`, () => changed() === at + 1);
    }
  });

  test("follows another folder that takes the place of a watched one, also above it", async () => {
    await using folder = await place({
      "first/docs/a.md": "one.",
      "second/docs/a.md": "two.",
      "moved/docs/b.md": "one.",
    });
    const at = (name: string) => join(folder.path, name);
    await symlink("first", at("current"));
    await using watching = startPaddock(["ingest", "current/docs", "moved/docs", "--watch"], {
      cwd: folder.path,
    });
    const changes = () => watching.stdout().split("(1 changed, 1 unchanged)").length - 1;
    await waitFor("the watch", () => watching.stderr().includes("Watching for changes"));
    await symlink("second", at("next"));
    await rename(at("next"), at("current"));
    await waitFor("what the link leads to", () => changes() === 1);
    await folder.write({ "second/docs/a.md": "three." });
    await waitFor("a change there", () => changes() === 2);
    await folder.write({ "other/docs/b.md": "two." });
    await rename(at("moved"), at("old"));
    await rename(at("other"), at("moved"));
    await waitFor("the other folder", () => changes() === 3);
    await folder.write({ "moved/docs/b.md": "three." });
    await waitFor("a change in it", () => changes() === 4);
    watching.process.kill("SIGINT");
    expect(await watching.exit()).toBe(0);
  });

  test("makes room for documents where the collection held the handbook alone", async () => {
    await using folder = await place({ "mine.md": "my own words." });
    const config = (await tinyEmbeddingConfig()).replace("handbook = false", "handbook = true");
    await folder.write({ "paddock.toml": config });
    {
      await using node = await servePaddock({ cwd: folder.path });
      expect(node.origin).toStartWith("http");
    }
    const { stdout } = await folder.ingest("mine.md");
    expect(stdout).toContain("Removed: paddock:handbook/");
    expect(await folder.stored()).toEqual([["mine.md", "my own words."]]);
  });

  test("makes room for documents while a node is still storing its handbook", async () => {
    await using folder = await place({ "mine.md": "my own words." });
    const config = (await tinyEmbeddingConfig()).replace("handbook = false", "handbook = true");
    await folder.write({ "paddock.toml": config });
    await using node = await servePaddock({ cwd: folder.path, untilComplete: false });
    await folder.ingest("mine.md");
    const isDone = async () => {
      const ready = await fetch(`${node.origin}/ready`);
      return (await decode(Readiness, ready)).reasons.length === 0;
    };
    await waitFor("the node to be done", isDone);
    expect(await folder.stored()).toEqual([["mine.md", "my own words."]]);
  });

  test("loses nothing that it stored when it is killed, and goes on where it was", async () => {
    await using folder = await place();
    const section = (file: number, at: number) => `# h${at}\n\ntext ${file} of ${at}.\n`;
    const pages = Object.fromEntries(
      Array.from({ length: 25 }, (_, file) => [
        `docs/${file}.md`,
        Array.from({ length: 40 }, (__, at) => section(file, at)).join("\n"),
      ]),
    );
    await folder.write(pages);
    const database = join(folder.path, ".paddock", "collections", "default.sqlite-wal");
    for (let round = 0; round < 2; round++) {
      await using killed = startPaddock(["ingest", "docs"], { cwd: folder.path });
      const before = Bun.file(database).size;
      await waitFor("something stored", () => Bun.file(database).size > before + 100_000);
      killed.process.kill("SIGKILL");
      await killed.exit();
    }
    const partial = await folder.stored();
    expect(partial.length).toBeGreaterThan(0);
    expect(partial.length).toBeLessThan(1000);
    expect(new Set(partial.map(String)).size).toBe(partial.length);
    const { code, stdout } = await folder.ingest("docs");
    expect(code).toBe(0);
    expect(stdout).toContain("now has 1000 passages");
    const stored = Number(/Stored (\d+) passages/.exec(stdout)?.[1]);
    expect(stored).toBe(1000 - partial.length);
    expect((await folder.ingest("docs")).stdout).toContain(
      "Stored 0 passages of 25 documents (25 unchanged)",
    );
  });
});
