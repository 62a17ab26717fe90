import { describe, expect, test } from "bun:test";
import { accessSync, chmodSync, constants, mkdtempSync, rmdirSync } from "node:fs";
import { chmod, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findFiles } from "../../../src/ingest/find-files.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { skipUnless } from "../../support/skip-reason.ts";
import { type TempDir, tempDir } from "../../support/temp-dir.ts";

async function folderOf(...files: string[]): Promise<TempDir> {
  const folder = await tempDir();
  for (const file of files) {
    const path = join(folder.path, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, file);
  }
  return folder;
}

async function find(folder: TempDir, ...paths: string[]) {
  const found = await findFiles(paths, folder.path);
  return { ...found, names: found.documents.map(({ name }) => name) };
}

/** Root does, unless it is without that capability. */
function seesEverything(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "paddock-rights-"));
  try {
    chmodSync(folder, 0);
    accessSync(folder, constants.R_OK);
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(folder);
  }
}

describe("files", () => {
  test("are named by their path from the working folder, however they are given", async () => {
    await using folder = await folderOf("notes/a.md");
    const full = join(folder.path, "notes", "a.md");
    for (const path of [
      "notes/a.md",
      "./notes/a.md",
      "notes/../notes/a.md",
      full,
      "notes",
      "**/a.md",
    ]) {
      expect((await find(folder, path)).names).toEqual(["notes/a.md"]);
    }
  });

  test("elsewhere are named by their whole path", async () => {
    await using folder = await folderOf("a.md");
    await using other = await folderOf("b.md");
    const path = join(other.path, "b.md");
    expect((await find(folder, path)).names).toEqual([path]);
  });

  test("are found in folders and below, what is hidden and what nobody reads left out", async () => {
    await using folder = await folderOf(
      "docs/b.md",
      "docs/sub/a.txt",
      "docs/.hidden/x.md",
      "docs/node_modules/y.md",
      "docs/picture.png",
      "docs/LICENSE",
    );
    await symlink(join(folder.path, "docs/b.md"), join(folder.path, "docs/linked.md"));
    await symlink(join(folder.path, "docs"), join(folder.path, "docs/sub/round"));
    const { names, skipped } = await find(folder, "docs");
    expect(names).toEqual(["docs/b.md", "docs/linked.md", "docs/sub/a.txt"]);
    expect(skipped).toEqual(
      new Map([
        ["", 1],
        [".png", 1],
      ]),
    );
  });

  test("are found by globs", async () => {
    await using folder = await folderOf("a.md", "b.txt", "sub/c.md", "sub/d.md");
    expect((await find(folder, "*.md")).names).toEqual(["a.md"]);
    expect((await find(folder, "**/*.md", "b.*")).names).toEqual([
      "a.md",
      "b.txt",
      "sub/c.md",
      "sub/d.md",
    ]);
  });

  test("that are named twice are one document", async () => {
    await using folder = await folderOf("a.md");
    expect((await find(folder, "a.md", ".", "*.md")).names).toEqual(["a.md"]);
  });

  test("that are not there are said to be missing", async () => {
    await using folder = await folderOf("a.md");
    expect((await find(folder, "a.md", "b.md", "*.txt")).missing).toEqual(["b.md", "*.txt"]);
  });

  const asUser = !skipUnless(
    !seesEverything(),
    "root looks into every folder: run as another user",
  );
  test.skipIf(!asUser)(
    "below a folder that cannot be looked into are not taken for removed ones",
    async () => {
      await using folder = await folderOf("docs/a.md", "docs/secret/b.md");
      await chmod(join(folder.path, "docs/secret"), 0);
      const { names, unlisted, covers } = await find(folder, "docs");
      await chmod(join(folder.path, "docs/secret"), 0o700);
      expect(names).toEqual(["docs/a.md"]);
      expect(unlisted).toEqual([
        { path: "docs/secret", reason: expect.stringContaining("EACCES") },
      ]);
      expect([covers("docs/secret/b.md"), covers("docs/gone.md")]).toEqual([false, true]);
    },
  );

  test.skipIf(!asUser).each([
    ["that can be listed and not entered", "docs/b", 0o400, "docs"],
    ["that cannot be entered, and is named", "docs/b", 0, "docs/b/d.md"],
    ["that is linked to", "docs/b", 0, "docs/linked.md"],
    ["that is the working folder", ".", 0o300, "."],
  ])("in a folder %s are not taken for removed ones", async (_, closed, mode, named) => {
    await using folder = await folderOf("docs/a.md", "docs/b/d.md");
    await symlink(join(folder.path, "docs/b/d.md"), join(folder.path, "docs/linked.md"));
    await chmod(join(folder.path, closed), mode);
    const { missing, unlisted, covers } = await find(folder, named);
    await chmod(join(folder.path, closed), 0o700);
    expect(missing).toEqual([]);
    expect(JSON.stringify(unlisted)).toContain("EACCES");
    const hidden = named === "docs/linked.md" ? named : "docs/b/d.md";
    expect(covers(hidden)).toBe(false);
  });

  test("that are hidden or libraries are left out of globs too", async () => {
    await using folder = await folderOf("a.md", ".git/b.md", "node_modules/x/c.md");
    expect((await find(folder, "**/*.md")).names).toEqual(["a.md"]);
  });

  test("of two folders have two origins", async () => {
    await using one = await folderOf("a.md");
    await using two = await folderOf("a.md");
    const [first, second] = [await find(one, "."), await find(two, ".")];
    expect(first.origin).not.toBe(second.origin);
    expect(first.documents[0]?.origin).toBe(first.origin);
  });

  test("that no reader knows are still tried where they are named themselves", async () => {
    await using folder = await folderOf("a.xyz");
    expect((await find(folder, "a.xyz")).names).toEqual(["a.xyz"]);
  });

  test("have their size, and their content when it is asked for", async () => {
    await using folder = await folderOf("a.md");
    const [document] = (await find(folder, "a.md")).documents;
    expect(document?.bytes).toBe(4);
    expect(new TextDecoder().decode(await document?.read())).toBe("a.md");
  });
});

describe("a link", () => {
  const outward = "its link leads out of the folders that were named";

  async function withSecret(): Promise<{ folder: TempDir; secret: TempDir } & AsyncDisposable> {
    await using folders = new AsyncDisposableStack();
    const folder = folders.use(await folderOf("docs/a.md", "other/b.md"));
    const secret = folders.use(await folderOf("id_rsa", "keys/c.md"));
    await symlink(join(secret.path, "id_rsa"), join(folder.path, "docs/notes.txt"));
    await symlink(join(secret.path, "keys"), join(folder.path, "docs/keys"));
    await symlink("../other/b.md", join(folder.path, "docs/b.md"));
    await symlink("nowhere.md", join(folder.path, "docs/broken.md"));
    const kept = folders.move();
    return { folder, secret, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test("that leads out of a named folder is left out, and said to be", async () => {
    await using place = await withSecret();
    const { folder } = place;
    const { names, leftOut } = await find(folder, "docs");
    expect(names).toEqual(["docs/a.md"]);
    expect(leftOut.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual([
      { path: "docs/b.md", reason: outward },
      { path: "docs/broken.md", reason: "it is a link that leads nowhere" },
      { path: "docs/keys", reason: outward },
      { path: "docs/notes.txt", reason: outward },
    ]);
  });

  test("that leads out is left out of globs too, of folders on the way as well", async () => {
    await using place = await withSecret();
    const { folder } = place;
    expect((await find(folder, "docs/*")).names).toEqual(["docs/a.md"]);
    expect((await find(folder, "docs/**/*.md")).names).toEqual(["docs/a.md"]);
    expect((await find(folder, "d*/k*/*.md")).names).toEqual([]);
  });

  test("that leads into another named folder is taken", async () => {
    await using place = await withSecret();
    const { folder } = place;
    const { names, leftOut } = await find(folder, "docs", "other");
    expect(names).toEqual(["docs/a.md", "docs/b.md", "other/b.md"]);
    expect(leftOut).not.toContainEqual(expect.objectContaining({ path: "docs/b.md" }));
  });

  test("that is named itself is followed, to a file or a folder", async () => {
    await using place = await withSecret();
    const { folder } = place;
    const [document] = (await find(folder, "docs/notes.txt", "docs")).documents.filter(
      ({ name }) => name === "docs/notes.txt",
    );
    expect(new TextDecoder().decode(await document?.read())).toBe("id_rsa");
    expect((await find(folder, "docs/keys")).names).toEqual(["docs/keys/c.md"]);
    expect((await find(folder, "docs/keys/*.md")).names).toEqual(["docs/keys/c.md"]);
  });

  test("that is put in a file's place after it was found is not read", async () => {
    await using place = await withSecret();
    const { folder, secret } = place;
    const [document] = (await find(folder, "docs")).documents;
    const path = join(folder.path, "docs/a.md");
    await rm(path);
    await symlink(join(secret.path, "id_rsa"), path);
    expect(String(await rejectionOf(document?.read() ?? Promise.resolve()))).toContain("leads out");
  });

  test("that is put in a folder's place after it was found is not followed", async () => {
    await using place = await withSecret();
    const { folder, secret } = place;
    await writeFile(join(secret.path, "a.md"), "secret");
    const [document] = (await find(folder, "docs")).documents;
    await rename(join(folder.path, "docs"), join(folder.path, "before"));
    await symlink(secret.path, join(folder.path, "docs"));
    expect(String(await rejectionOf(document?.read() ?? Promise.resolve()))).toContain("leads out");
  });

  test("to a pipe holds nobody up", async () => {
    await using folder = await folderOf("docs/a.md");
    Bun.spawnSync(["mkfifo", join(folder.path, "docs/pipe.md")]);
    const { names, leftOut } = await find(folder, "docs");
    expect(names).toEqual(["docs/a.md"]);
    expect(leftOut).toEqual([{ path: "docs/pipe.md", reason: "it is no file" }]);
  });
});

describe("what paths stand for in a collection", () => {
  test.each([
    ["docs", "docs/a.md", true],
    ["docs", "docs/gone/b.md", true],
    ["docs", "documents/a.md", false],
    ["docs/a.md", "docs/a.md", true],
    ["docs/a.md", "docs/b.md", false],
    ["docs/*.md", "docs/gone.md", true],
    ["docs/*.md", "docs/sub/gone.md", false],
    [".", "anything/at/all.md", true],
    [".", "/elsewhere/all.md", false],
    ["gone.md", "gone.md", true],
    ["gone", "gone/a.md", true],
  ])("%s stands for %s: %p", async (path, document, expected) => {
    await using folder = await folderOf("docs/a.md");
    expect((await find(folder, path)).covers(document)).toBe(expected);
  });
});
