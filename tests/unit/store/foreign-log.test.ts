import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { setForeignLogAside } from "../../../src/store/foreign-log.ts";
import { OwnFile } from "../../../src/store/own-file.ts";
import { tempDir } from "../../support/temp-dir.ts";

const notesIn = (path: string): OwnFile =>
  new OwnFile({
    path,
    called: "The notes",
    advice: "restore them",
    tables: { version: 1, sql: "create table notes (seq integer primary key, note text)" },
  });

const add = (file: OwnFile, count: number, note: string): void =>
  file.write((database) => {
    const insert = database.query("insert into notes (note) values (?)");
    for (let at = 0; at < count; at++) insert.run(note.repeat(500));
  });

const isWhole = (path: string): boolean => {
  using database = new Database(path);
  return database.query("pragma integrity_check").values()[0]?.[0] === "ok";
};

const isEmptied = async (path: string): Promise<void> => {
  while (Bun.file(`${path}-wal`).size > 0) await Bun.sleep(20);
};

const countIn = (file: OwnFile): number => file.number("select count(*) from notes");

/** The file and its log as a killed node left them. */
function killed(from: string, to: string): void {
  for (const suffix of ["", "-wal"]) copyFileSync(`${from}${suffix}`, `${to}${suffix}`);
}

/** A backup of 50 notes, and changes after it that begin the log anew. */
async function backUpAndGoOn(file: OwnFile, path: string, backup: string): Promise<void> {
  add(file, 50, "one");
  await isEmptied(path);
  copyFileSync(path, backup);
  for (let at = 0; at < 10; at++) add(file, 200, "two");
  await isEmptied(path);
}

test("a backup is not damaged by the log that a killed node left", async () => {
  await using folder = await tempDir();
  const [path, backup, left] = ["notes", "backup", "left"].map((name) =>
    join(folder.path, `${name}.sqlite`),
  );
  if (!path || !backup || !left) throw new Error("there are three");
  using file = notesIn(path);
  await backUpAndGoOn(file, path, backup);
  file.run("delete from notes where seq > 100");
  add(file, 30, "three");
  killed(path, left);
  using own = notesIn(left);
  expect(countIn(own)).toBe(130);
  own[Symbol.dispose]();

  killed(path, left);
  const log = readFileSync(`${left}-wal`);
  copyFileSync(backup, left);
  using restored = notesIn(left);
  expect(countIn(restored)).toBe(50);
  add(restored, 5, "three");
  restored[Symbol.dispose]();
  expect(isWhole(left)).toBe(true);
  const aside = readdirSync(folder.path).filter((name) => name.endsWith(".foreign"));
  expect(aside).toHaveLength(1);
  expect(readFileSync(join(folder.path, aside[0] ?? "")).equals(log)).toBe(true);
});

test("nor where the file is a link, and its log is elsewhere", async () => {
  await using folder = await tempDir();
  const [path, backup, left, link] = ["notes", "backup", "left", "link"].map((name) =>
    join(folder.path, `${name}.sqlite`),
  );
  if (!path || !backup || !left || !link) throw new Error("there are four");
  using file = notesIn(path);
  await backUpAndGoOn(file, path, backup);
  add(file, 30, "three");
  killed(path, left);
  copyFileSync(backup, left);
  symlinkSync(left, link);
  using restored = notesIn(link);
  expect(countIn(restored)).toBe(50);
  restored[Symbol.dispose]();
  expect(isWhole(left)).toBe(true);
});

test("the log of the file itself is applied, however much of it the file has already", async () => {
  await using folder = await tempDir();
  const [path, left] = ["notes", "left"].map((name) => join(folder.path, `${name}.sqlite`));
  if (!path || !left) throw new Error("there are two");
  using file = notesIn(path);
  for (let count = 1; count <= 60; count++) {
    add(file, count % 7, "some");
    file.run("update notes set note = ? where seq = 1", "x".repeat(20_000 * (count % 5)));
    if (count % 9 === 0) file.write((database) => database.run("delete from notes where seq > 20"));
    killed(path, left);
    setForeignLogAside(left);
    using own = notesIn(left);
    expect(countIn(own)).toBe(countIn(file));
  }
  expect(readdirSync(folder.path).filter((name) => name.endsWith(".foreign"))).toEqual([]);
});

test("a backup that is copied over an open file is used from then on, and not damaged", async () => {
  await using folder = await tempDir();
  const [path, backup] = ["notes", "backup"].map((name) => join(folder.path, `${name}.sqlite`));
  if (!path || !backup) throw new Error("there are two");
  using file = notesIn(path);
  add(file, 50, "one");
  await isEmptied(path);
  copyFileSync(path, backup);
  add(file, 500, "two");
  await isEmptied(path);
  add(file, 500, "three");
  copyFileSync(backup, path);
  expect(countIn(file)).toBe(50);
  add(file, 5, "three");
  file[Symbol.dispose]();
  expect(isWhole(path)).toBe(true);
});

test("a copy of a file alone is complete soon after the last change", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "notes.sqlite");
  using file = notesIn(path);
  add(file, 5, "one");
  await isEmptied(path);
  copyFileSync(path, join(folder.path, "copy.sqlite"));
  using copy = notesIn(join(folder.path, "copy.sqlite"));
  expect(countIn(copy)).toBe(5);
});

test("a backup by 'vacuum into', whose pages are elsewhere, gets no log of the file that it was made of", async () => {
  await using folder = await tempDir();
  const [path, left] = ["notes", "left"].map((name) => join(folder.path, `${name}.sqlite`));
  if (!path || !left) throw new Error("there are two");
  using file = notesIn(path);
  add(file, 100, "one");
  file.run("delete from notes where seq % 2 = 0");
  {
    using database = new Database(path);
    database.run("vacuum into ?", [left]);
  }
  add(file, 20, "two");
  copyFileSync(`${path}-wal`, `${left}-wal`);
  using restored = notesIn(left);
  expect(countIn(restored)).toBe(50);
  restored[Symbol.dispose]();
  expect(isWhole(left)).toBe(true);
});

const systemLocks = "/proc/locks";

test.skipIf(!existsSync(systemLocks))(
  "a file that was looked at while it is open stays locked, so that no other program deletes its log",
  async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "notes.sqlite");
    using file = notesIn(path);
    add(file, 10, "one");
    const { ino } = statSync(path);
    const isLocked = (): boolean => readFileSync(systemLocks, "utf8").includes(`:${ino} `);
    expect(isLocked()).toBe(true);
    setForeignLogAside(path);
    expect(isLocked()).toBe(true);
  },
);
