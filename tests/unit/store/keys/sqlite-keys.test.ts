import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  copyFile,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { stateOf } from "../../../../src/core/limits/api-key.ts";
import { SqliteKeys } from "../../../../src/store/keys/sqlite-keys.ts";
import { oldKeysFile } from "../../../support/old-keys-file.ts";
import { canMakeDisks, smallDisk } from "../../../support/small-disk.ts";
import { type TempDir, tempDir } from "../../../support/temp-dir.ts";

const pathIn = (folder: TempDir): string => join(folder.path, "data", "keys.sqlite");

describe("keys in a file", () => {
  test("are found by their whole text alone", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    expect([keys.hasKeys(), keys.list(), keys.find("pk_any")]).toEqual([false, [], undefined]);
    const { key, text } = keys.create({ name: "ada", scopes: ["chat"] });
    expect(text).toMatch(/^pk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
    expect(keys.find(text)).toEqual(key);
    expect(keys.hasKeys()).toBe(true);
    const wrong = [
      text.slice(0, -1),
      `${text}x`,
      text.toUpperCase(),
      text.replace(/_[^_]*$/, "_"),
      "",
    ];
    for (const other of wrong) expect(keys.find(other)).toBeUndefined();
    const { text: second } = keys.create({ name: "grace", scopes: ["chat"] });
    const mixed = text.slice(0, 16) + second.slice(16);
    expect(keys.find(mixed)).toBeUndefined();
  });

  test("are kept as a digest that lets nobody in, for the owner alone", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    const { text } = keys.create({ name: "ada", scopes: ["chat"] });
    const secret = text.slice(16);
    expect((await stat(dirname(pathIn(folder)))).mode & 0o077).toBe(0);
    for (const suffix of ["", "-wal"]) {
      const path = `${pathIn(folder)}${suffix}`;
      expect((await readFile(path)).includes(secret)).toBe(false);
      expect((await stat(path)).mode & 0o077).toBe(0);
    }
  });

  test("are revoked for every process that has the file open, by id or by name, for good", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    const first = keys.create({ name: "ada", scopes: ["chat"] });
    const second = keys.create({ name: "grace", scopes: ["retrieve"] });
    using node = new SqliteKeys(pathIn(folder));
    expect(node.find(first.text)?.revokedAt).toBeUndefined();
    const revoked = keys.revoke("ada");
    expect(revoked?.id).toBe(first.key.id);
    const seen = node.find(first.text);
    expect(seen === undefined ? "" : stateOf(seen)).toBe("revoked");
    expect(keys.revoke("ada")?.revokedAt).toEqual(revoked?.revokedAt ?? new Date(0));
    expect(keys.revoke(second.key.id)?.name).toBe("grace");
    expect(keys.revoke("nobody")).toBeUndefined();
    expect(node.hasKeys()).toBe(true);
  });

  test("have names of their own", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    keys.create({ name: "ada", scopes: ["chat"] });
    keys.revoke("ada");
    expect(() => keys.create({ name: "ada", scopes: ["chat"] })).toThrow("named 'ada' already");
  });

  test("keep limits of their own, and zero is one of them", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    const limits = { requestsPerMinute: 60, tokensPerMinute: 0 };
    const { text } = keys.create({ name: "ada", scopes: ["chat"], limits });
    expect(keys.find(text)?.limits).toEqual(limits);
    keys.create({ name: "grace", scopes: ["chat"] });
    expect(keys.list().map((key) => key.limits)).toEqual([limits, {}]);
  });

  test("are bound to the vector stores that they name, whatever characters are in an id", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    // Of collections that another program made in Qdrant; the parts of one may be ids of others.
    const vectorStores = ["vs_team b", "vs_team", "vs_100%20 été:read"];
    const { text } = keys.create({ name: "ada", scopes: ["chat"], vectorStores });
    expect(keys.find(text)?.vectorStores).toEqual(vectorStores);
  });

  test("of a file that was made before they had limits still let in, and go on without", async () => {
    await using folder = await tempDir();
    const secret = "s".repeat(43);
    await mkdir(dirname(pathIn(folder)));
    oldKeysFile(pathIn(folder), secret);
    using keys = new SqliteKeys(pathIn(folder));
    using other = new SqliteKeys(pathIn(folder));
    for (const ring of [keys, other]) {
      expect(ring.find(`pk_0123456789ab_${secret}`)).toMatchObject({ name: "old", limits: {} });
    }
    keys.create({ name: "new", scopes: ["chat"], limits: { concurrency: 1 } });
    expect(other.list().map(({ name, limits }) => [name, limits])).toEqual([
      ["old", {}],
      ["new", { concurrency: 1 }],
    ]);
  });

  test("end at their time", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(pathIn(folder));
    const expiresAt = new Date(Date.now() + 60_000);
    const { text } = keys.create({ name: "ada", scopes: ["chat"], expiresAt });
    const found = keys.find(text);
    if (found === undefined) throw new Error("it was just made");
    expect(stateOf(found)).toBe("valid");
    expect(stateOf(found, expiresAt)).toBe("expired");
  });
});

/** What a key is worth in the eyes of a ring. */
function worth(ring: SqliteKeys, text: string): string {
  const key = ring.find(text);
  return key === undefined ? "unknown" : stateOf(key);
}

describe("a keys file that was put in the place of another", () => {
  /** A node that has let in ada, and a second file in which she is revoked. */
  async function replaced() {
    const folder = await tempDir();
    const path = pathIn(folder);
    using keys = new SqliteKeys(path);
    const { text } = keys.create({ name: "ada", scopes: ["chat"] });
    const other = `${path}.other`;
    await copyFile(path, other);
    using others = new SqliteKeys(other);
    others.revoke("ada");
    const node = new SqliteKeys(path);
    expect(worth(node, text)).toBe("valid");
    const dispose = async (): Promise<void> => {
      node[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    };
    return { node, text, path, other, [Symbol.asyncDispose]: dispose };
  }

  test.each([
    ["moved", rename],
    ["copied", copyFile],
  ] as const)("is heeded at once when it was %s there", async (_, put) => {
    await using given = await replaced();
    await put(given.other, given.path);
    expect(worth(given.node, given.text)).toBe("revoked");
  });

  test("is changed by those who give keys out, and by nothing that lay beside the first", async () => {
    await using given = await replaced();
    await rename(given.other, given.path);
    using administrator = new SqliteKeys(given.path);
    const { text } = administrator.create({ name: "grace", scopes: ["chat"] });
    expect([worth(given.node, given.text), worth(given.node, text)]).toEqual(["revoked", "valid"]);
    using later = new SqliteKeys(given.path);
    expect(later.list().map((key) => [key.name, stateOf(key)])).toEqual([
      ["ada", "revoked"],
      ["grace", "valid"],
    ]);
  });

  test("lets nobody in without a key while it is gone, empty or damaged", async () => {
    await using given = await replaced();
    const { node, path, other, text } = given;
    const away = expect.stringContaining("keys.sqlite in the data dir cannot be read, or has no");
    expect([node.hasKeys(), node.problem()]).toEqual([true, undefined]);
    await rm(path);
    expect([node.hasKeys(), worth(node, text), node.problem()]).toEqual([true, "unknown", away]);
    await copyFile(other, path);
    await truncate(path, 0);
    expect([node.hasKeys(), worth(node, text), node.problem()]).toEqual([true, "unknown", away]);
    await truncate(path, 100);
    expect(() => worth(node, text)).toThrow("cannot be used");
    expect(node.problem()).toEqual(away);
    await copyFile(other, path);
    expect([node.hasKeys(), worth(node, text), node.problem()]).toEqual([
      true,
      "revoked",
      undefined,
    ]);
  });

  test.each([
    ["empty", (path: string) => truncate(path, 0)],
    [
      "a database without keys",
      async (path: string) => {
        await rm(path);
        using recovered = new Database(path);
        recovered.run("create table lost_and_found (field)");
      },
    ],
  ])("does not open a node that starts while it is %s", async (_, lose) => {
    await using given = await replaced();
    await lose(given.other);
    using started = new SqliteKeys(given.other);
    expect(() => started.hasKeys()).toThrow("has no keys");
    started.create({ name: "grace", scopes: ["chat"] });
    expect(started.hasKeys()).toBe(true);
  });

  test("does not open a node that starts while the disk that it is a link to is away", async () => {
    await using given = await replaced();
    const { path, other, text } = given;
    await rename(other, `${other}.away`);
    using started = new SqliteKeys(path);
    const away = `${other}/away.sqlite`;
    await rm(path);
    await symlink(away, path);
    expect(() => started.hasKeys()).toThrow("a link to no file");
    expect(() => started.create({ name: "grace", scopes: ["chat"] })).toThrow("cannot be used");
    expect(() => started.hasKeys()).toThrow("a link to no file");
    await mkdir(other);
    await rename(`${other}.away`, away);
    expect([started.hasKeys(), worth(started, text)]).toEqual([true, "revoked"]);
  });

  test("keeps its log where it was moved away itself", async () => {
    await using given = await replaced();
    const { path, node } = given;
    node[Symbol.dispose]();
    const log = `${path}-wal`;
    await rename(path, `${path}.away`);
    await writeFile(log, "changes");
    using administrator = new SqliteKeys(path);
    expect(() => administrator.create({ name: "grace", scopes: ["chat"] })).toThrow("still has");
    expect(await readFile(log, "utf8")).toBe("changes");
  });

  test("cannot be used while it is a link to itself", async () => {
    await using given = await replaced();
    const { node, path, other, text } = given;
    await rm(path);
    await symlink(path, path);
    for (const _ of [1, 2]) {
      expect(() => worth(node, text)).toThrow(expect.objectContaining({ kind: "unavailable" }));
    }
    await rename(other, path);
    expect(worth(node, text)).toBe("revoked");
  });

  test("lets nobody in while another process keeps it locked, and is left as it is", async () => {
    await using given = await replaced();
    const { path, other, text } = given;
    using node = new SqliteKeys(path, { waitMs: 1 });
    expect([node.hasKeys(), worth(node, text)]).toEqual([true, "valid"]);
    using lock = new Database(other);
    lock.run("pragma journal_mode = delete");
    lock.run("begin exclusive");
    const bytes = await readFile(other);
    await rename(other, path);
    using started = new SqliteKeys(path, { waitMs: 1 });
    const locked = "another process keeps it locked";
    for (const _ of [1, 2]) {
      expect(() => worth(node, text)).toThrow(locked);
      expect(() => started.hasKeys()).toThrow(locked);
    }
    expect((await readFile(path)).equals(bytes)).toBe(true);
    lock.run("rollback");
    expect([worth(node, text), worth(started, text)]).toEqual(["revoked", "revoked"]);
  });

  test("holds all that was given out, whoever has it open", async () => {
    await using given = await replaced();
    using administrator = new SqliteKeys(given.path);
    administrator.revoke("ada");
    expect((await stat(`${given.path}-wal`)).size).toBe(0);
    await copyFile(given.path, `${given.path}.copy`);
    using copy = new SqliteKeys(`${given.path}.copy`);
    expect(worth(copy, given.text)).toBe("revoked");
  });
});

// Why they are skipped is said by canMakeDisks.
describe.skipIf(!(await canMakeDisks()))("a keys file that there is no room for", () => {
  test.each([0, 1, 2, 4, 8, 12, 16, 24])(
    "is not left without keys beside %i free pages",
    async (pages) => {
      await using disk = await smallDisk(1);
      const path = join(disk.path, "keys.sqlite");
      await writeFile(join(disk.path, "others"), Buffer.alloc((256 - pages) * 4096));
      using administrator = new SqliteKeys(path);
      let isMade = true;
      try {
        administrator.create({ name: "ada", scopes: ["chat"] });
      } catch {
        isMade = false;
      }
      administrator[Symbol.dispose]();
      using node = new SqliteKeys(path);
      expect(node.hasKeys()).toBe(isMade);
    },
  );
});

describe.skipIf(!(await canMakeDisks()))("a keys file that this process can only read", () => {
  test("is read again when another process changed it", async () => {
    await using disk = await smallDisk(4);
    await using view = await disk.readOnlyView();
    using administrator = new SqliteKeys(join(disk.path, "keys.sqlite"));
    const { text } = administrator.create({ name: "ada", scopes: ["chat"] });
    administrator[Symbol.dispose]();
    using node = new SqliteKeys(join(view.path, "keys.sqlite"));
    expect(worth(node, text)).toBe("valid");
    administrator.revoke("ada");
    expect(worth(node, text)).toBe("revoked");
    const { text: second } = administrator.create({ name: "grace", scopes: ["chat"] });
    administrator[Symbol.dispose]();
    expect(worth(node, second)).toBe("valid");
    expect(() => node.revoke("grace")).toThrow("cannot be used");
  });
});
