import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NodeError, reasonOf } from "../../../../src/core/errors.ts";
import { ResponseRows } from "../../../../src/store/responses/response-rows.ts";
import { oldResponsesFile } from "../../../support/old-responses-file.ts";
import { queryPlans } from "../../../support/query-plans.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { keptResponse, responseStore } from "../../../support/test-responses.ts";

const fileIn = (folder: { path: string }): string => join(folder.path, "data", "responses.sqlite");

test("gives back what was kept, to its owner alone, also after a restart", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  const own = keptResponse("resp_a", { owner: "ada" });
  const open = keptResponse("resp_b");
  {
    await using store = responseStore({ path });
    await store.save(own);
    await store.save(open);
  }
  await using store = responseStore({ path });
  expect(await store.find("resp_a", "ada")).toEqual(own);
  expect(await store.find("resp_a", "bob")).toBeUndefined();
  expect(await store.find("resp_a", undefined)).toBeUndefined();
  expect(await store.find("resp_b", undefined)).toEqual(open);
  expect(await store.find("resp_b", "ada")).toBeUndefined();
  expect(await store.find("resp_c", "ada")).toBeUndefined();
});

test("parses of what was kept only what is asked for", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder) });
  const { body, input, ...rest } = keptResponse("resp_a");
  await store.save({ body, input, ...rest });
  const parse = spyOn(JSON, "parse");
  const found = await store.find("resp_a", undefined);
  expect(found?.input).toEqual(input);
  expect(parse.mock.calls).toEqual([[JSON.stringify(input)]]);
  parse.mockRestore();
  expect(found?.body).toEqual(body);
});

test("many calls of one owner hold up no other's", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder) });
  const ended: string[] = [];
  const many = Array.from({ length: 20 }, async (_, at) => {
    await store.save(keptResponse(`resp_${at}`, { owner: "ada" }));
    ended.push("ada");
  });
  await store.find("resp_b", "bob").then(() => ended.push("bob"));
  await Promise.all(many);
  expect(ended.indexOf("bob")).toBeLessThan(2);
});

test("a caller that stores many begins another by reading what is unfinished alone", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  {
    await using store = responseStore({ path });
    await store.save(keptResponse("resp_a", { owner: "ada" }));
  }
  using rows = new ResponseRows(path, {});
  const bounds = { before: 0, maxBytes: 1e9 };
  const found = rows.find("resp_a", "ada", bounds);
  if (found === undefined) throw new Error("It is not stored.");
  using database = new Database(path);
  const steps = queryPlans(database, () => {
    rows.save({ ...found, id: "resp_b", status: "queued" }, bounds);
  });
  expect(rows.countUnfinished()).toBe(1);
  expect(steps.filter((step) => /responses/.test(step))).toSatisfy(
    (read) => read.length > 0 && read.every((step) => step.includes("responses_unfinished")),
  );
});

test("makes no file and no folder before something is kept", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  await using store = responseStore({ path });
  expect(await store.find("resp_a", undefined)).toBeUndefined();
  expect(await store.delete("resp_a", undefined)).toBe(false);
  expect(await store.hasUnfinished()).toBe(false);
  expect(await store.tidy()).toEqual({ expired: 0, displaced: 0, isDone: true });
  expect(existsSync(join(folder.path, "data"))).toBe(false);
});

test("keeps its files from everybody but their owner", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  await using store = responseStore({ path });
  await store.save(keptResponse("resp_a"));
  const rights = ["", "-wal", "-shm"].map((suffix) => statSync(`${path}${suffix}`).mode & 0o777);
  expect(rights).toEqual([0o600, 0o600, 0o600]);
  expect(statSync(join(folder.path, "data")).mode & 0o777).toBe(0o700);
});

test("deletes what its owner deletes, and leaves nothing of it on the disk", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  await using store = responseStore({ path });
  const secret = "the-horse-is-called-Bucephalus";
  await store.save(
    keptResponse("resp_a", { owner: "ada", conversation: [{ role: "user", content: secret }] }),
  );
  expect(await store.delete("resp_a", "bob")).toBe(false);
  expect(await store.delete("resp_a", "ada")).toBe(true);
  expect(await store.delete("resp_a", "ada")).toBe(false);
  expect(await store.find("resp_a", "ada")).toBeUndefined();
  const files = [path, `${path}-wal`].map((file) => readFileSync(file, "latin1"));
  expect(files.some((text) => text.includes(secret))).toBe(false);
});

test("answers nothing whose time is over, and deletes it in steps", async () => {
  await using folder = await tempDir();
  let now = 1_000_000;
  await using store = responseStore({ path: fileIn(folder), keepForMs: 1000, now: () => now });
  for (let number = 0; number < 130; number++) {
    await store.save(keptResponse(`resp_${number}`, { createdAt: now }));
  }
  await store.save(keptResponse("resp_new", { createdAt: now + 500 }));
  now += 1000;
  expect(await store.find("resp_0", undefined)).toBeUndefined();
  expect(await store.delete("resp_0", undefined)).toBe(false);
  expect(await store.change("resp_0", { status: "failed" })).toBe(false);
  expect(await store.tidy()).toEqual({ expired: 100, displaced: 0, isDone: false });
  expect(await store.tidy()).toEqual({ expired: 30, displaced: 0, isDone: true });
  expect(await store.find("resp_new", undefined)).toMatchObject({ id: "resp_new" });
});

test("keeps what is there already no longer than it is told when it is opened again", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  {
    await using store = responseStore({ path, keepForMs: 1e9 });
    await store.save(keptResponse("resp_a", { createdAt: Date.now() - 5000 }));
  }
  await using store = responseStore({ path, keepForMs: 1000 });
  expect(await store.find("resp_a", undefined)).toBeUndefined();
  expect(await store.tidy()).toEqual({ expired: 1, displaced: 0, isDone: true });
});

test("lets the oldest go where all are too large together, and says how many", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder), maxBytes: 10_000 });
  const large = (id: string, createdAt: number) =>
    keptResponse(id, { createdAt, body: { id, text: "ü".repeat(1200) } });
  const now = Date.now();
  await store.save({ ...large("resp_made", now - 100), status: "in_progress" });
  for (const number of [1, 2, 3, 4, 5])
    await store.save(large(`resp_${number}`, now - 50 + number));
  const ids = ["resp_made", "resp_1", "resp_2", "resp_3", "resp_4", "resp_5"];
  const found = await Promise.all(ids.map((id) => store.find(id, undefined)));
  expect(found.flatMap((response) => response?.id ?? [])).toEqual([
    "resp_made",
    "resp_4",
    "resp_5",
  ]);
  expect(await store.tidy()).toEqual({ expired: 0, displaced: 3, isDone: true });
  expect(await store.tidy()).toEqual({ expired: 0, displaced: 0, isDone: true });
});

test("gives the room of what went back to the disk", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  let now = 1_000_000;
  await using store = responseStore({
    ...{ path, keepForMs: 1000, now: () => now },
    ...{ maxBytes: 1e8, maxResponseBytes: 1e8 },
  });
  const body = { text: "x".repeat(1 << 20) };
  for (let number = 0; number < 20; number++) {
    await store.save(keptResponse(`resp_${number}`, { createdAt: now, body }));
  }
  await store.tidy();
  const before = statSync(path).size;
  now += 1000;
  const steps = [await store.tidy(), await store.tidy(), await store.tidy()];
  expect(steps.map(({ isDone }) => isDone)).toEqual([false, false, true]);
  expect(before).toBeGreaterThan(20e6);
  expect(statSync(path).size).toBeLessThan(before / 2);
});

test("refuses a response that is larger than it keeps, by what to do about it", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder), maxResponseBytes: 2000 });
  const body = { text: "ü".repeat(1000) };
  expect(await rejectionOf(store.save(keptResponse("resp_a", { body })))).toMatchObject({
    kind: "payload_too_large",
    param: "store",
    message: expect.stringContaining("responses.max_response_bytes"),
  });
  await store.save(keptResponse("resp_b", { status: "queued" }));
  expect(await rejectionOf(store.change("resp_b", { body }))).toBeInstanceOf(NodeError);
});

test("refuses what is far too large before it is written as text", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder), maxResponseBytes: 2000 });
  const written = new Error("It was written");
  const body = {
    texts: Array.from({ length: 100 }, () => "x".repeat(100)),
    toJSON: () => {
      throw written;
    },
  };
  expect(await rejectionOf(store.save(keptResponse("resp_a", { body })))).toMatchObject({
    kind: "payload_too_large",
    message: expect.stringContaining("more than 2000 bytes"),
  });
  await store.save(keptResponse("resp_b", { status: "queued" }));
  expect(await rejectionOf(store.change("resp_b", { body }))).not.toBe(written);
});

test("changes one that is not finished, and no other", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder) });
  const queued = keptResponse("resp_a", { status: "queued", isBackground: true });
  await store.save(queued);
  expect(await store.change("resp_a", { status: "in_progress" })).toBe(true);
  const failure = { code: "server_error", message: "no" };
  const body = { id: "resp_a", output: [] };
  expect(await store.change("resp_a", { status: "failed", failure, body })).toBe(true);
  expect(await store.change("resp_a", { status: "completed" })).toBe(false);
  expect(await store.change("resp_b", { status: "completed" })).toBe(false);
  expect(await store.find("resp_a", undefined)).toEqual({
    ...queued,
    status: "failed",
    failure,
    body,
  });
});

test("fails all that are not finished", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder) });
  await store.save(keptResponse("resp_a", { status: "queued" }));
  await store.save(keptResponse("resp_b", { status: "in_progress", owner: "ada" }));
  await store.save(keptResponse("resp_c"));
  expect(await store.hasUnfinished()).toBe(true);
  const failure = { code: "server_error", message: "The node ended." };
  expect(await store.failUnfinished(failure)).toBe(2);
  expect(await store.failUnfinished(failure)).toBe(0);
  expect(await store.find("resp_b", "ada")).toMatchObject({ status: "failed", failure });
  expect(await store.find("resp_c", undefined)).toMatchObject({ status: "completed" });
});

test("explains a file that is damaged or of a newer version, and begins anew without it", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  {
    await using store = responseStore({ path });
    await store.save(keptResponse("resp_a"));
  }
  writeFileSync(path, "not a database, and longer than a header would be".repeat(200));
  {
    await using store = responseStore({ path });
    expect(await rejectionOf(store.find("resp_a", undefined))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("move it away"),
    });
    expect(await rejectionOf(store.save(keptResponse("resp_b")))).toMatchObject({
      kind: "unavailable",
    });
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    await store.save(keptResponse("resp_b"));
    expect(await store.find("resp_b", undefined)).toMatchObject({ id: "resp_b" });
  }
  const newer = new Database(path);
  newer.run("pragma user_version = 7");
  newer.close();
  await using store = responseStore({ path });
  expect(await rejectionOf(store.find("resp_b", undefined))).toMatchObject({
    message: expect.stringContaining("newer Paddock"),
  });
});

test("notices that its file was removed, and writes no more into what nobody sees", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  await using store = responseStore({ path });
  await store.save(keptResponse("resp_a"));
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
  expect(await store.find("resp_a", undefined)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
  await store.save(keptResponse("resp_b"));
  await using other = responseStore({ path });
  expect(await other.find("resp_b", undefined)).toMatchObject({ id: "resp_b" });
});

test("makes no folder again that was moved away with its file", async () => {
  await using folder = await tempDir();
  const place = join(folder.path, "data");
  await using store = responseStore({ path: join(place, "responses.sqlite") });
  await store.save(keptResponse("resp_1"));
  renameSync(place, `${place}-away`);
  expect(await rejectionOf(store.save(keptResponse("resp_2")))).toMatchObject({
    kind: "unavailable",
  });
  expect(existsSync(place)).toBe(false);
  renameSync(`${place}-away`, place);
  await store.save(keptResponse("resp_2"));
  expect(await store.find("resp_1", undefined)).toBeDefined();
});

test("reads a backup that is put in the place of its file as it is, without later changes", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  await using store = responseStore({ path });
  const save = async (...ids: string[]): Promise<void> => {
    for (const id of ids) await store.save(keptResponse(id, { body: { text: "x".repeat(5000) } }));
  };
  await save("resp_a", "resp_b");
  const backup = join(folder.path, "backup.sqlite");
  using database = new Database(path);
  database.run("vacuum into ?", [backup]);
  database.close();
  await store.delete("resp_a", undefined);
  await save(...Array.from({ length: 20 }, (_, at) => `resp_${at}`));
  renameSync(backup, path);
  const found = ["resp_a", "resp_b", "resp_1"].map((id) => store.find(id, undefined));
  expect(await Promise.all(found)).toMatchObject([{ id: "resp_a" }, { id: "resp_b" }, undefined]);
  await save("resp_c");
  using restored = new Database(path);
  expect(restored.query("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
});

test("lets two processes' worth of stores write the same file", async () => {
  await using folder = await tempDir();
  const path = fileIn(folder);
  await using one = responseStore({ path });
  await using two = responseStore({ path });
  const saves = Array.from({ length: 20 }, (_, number) =>
    (number % 2 === 0 ? one : two).save(keptResponse(`resp_${number}`)),
  );
  await Promise.all(saves);
  const found = await Promise.all(saves.map((_, number) => one.find(`resp_${number}`, undefined)));
  expect(found.every((response) => response !== undefined)).toBe(true);
});

test("lets the oldest of who stores most go, and leaves everybody else's alone", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder), maxBytes: 100_000 });
  const of = (owner: string | undefined, id: string, bytes: number) =>
    keptResponse(id, { owner, body: { text: "x".repeat(bytes) } });
  await store.save(of("bob", "resp_bob", 20_000));
  await store.save(of(undefined, "resp_anyone", 20_000));
  for (const number of [1, 2, 3, 4]) await store.save(of("ada", `resp_${number}`, 40_000));
  const left = async (owner: string | undefined, ...ids: string[]) => {
    const found = await Promise.all(ids.map((id) => store.find(id, owner)));
    return found.flatMap((response) => response?.id ?? []);
  };
  expect(await left("bob", "resp_bob")).toEqual(["resp_bob"]);
  expect(await left(undefined, "resp_anyone")).toEqual(["resp_anyone"]);
  expect(await left("ada", "resp_1", "resp_2", "resp_3", "resp_4")).toEqual(["resp_4"]);
  // What is deleted counts no more; what grows counts as it is.
  await store.delete("resp_4", "ada");
  await store.save(of("bob", "resp_bob", 50_000));
  await store.save(of("ada", "resp_5", 20_000));
  await store.save(of("ada", "resp_6", 20_000));
  expect(await left("bob", "resp_bob")).toEqual([]);
  expect(await left("ada", "resp_5", "resp_6")).toEqual(["resp_5", "resp_6"]);
});

test("the owners are asked for once where the oldest of many go", async () => {
  await using folder = await tempDir();
  using rows = new ResponseRows(fileIn(folder), {});
  const row = (id: number) => ({
    ...{ id: `${id}`, owner: `${id % 40}`, created_at: id, status: "completed" as const },
    ...{ failure: null, background: 0, body: "x".repeat(100), input: "", conversation: "" },
  });
  for (let id = 0; id < 120; id++) rows.save(row(id), { before: -1, maxBytes: 1e6 });
  using queries = spyOn(Database.prototype, "query");
  expect(rows.tidy({ before: -1, maxBytes: 4000 })).toMatchObject({ displaced: 80 });
  const lists = queries.mock.calls.filter(([sql]) => sql.includes("from owners order by"));
  expect(lists).toHaveLength(1);
  const left = Array.from({ length: 120 }, (_, id) => id).filter(
    (id) => rows.find(`${id}`, `${id % 40}`, { before: -1, maxBytes: 0 }) !== undefined,
  );
  expect(left).toEqual(Array.from({ length: 40 }, (_, at) => 80 + at));
});

test("one who stores most loses no answer that is not finished, and nobody else's goes for it", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder), maxBytes: 10_000 });
  const body = { text: "x".repeat(4000) };
  await store.save(keptResponse("resp_made", { owner: "ada", body, status: "in_progress" }));
  await store.save(keptResponse("resp_bob", { owner: "bob", body: { text: "x".repeat(3000) } }));
  expect(
    reasonOf(await rejectionOf(store.save(keptResponse("resp_new", { owner: "ada", body })))),
  ).toMatch(/no room/);
  expect(await store.find("resp_made", "ada")).toBeDefined();
  expect(await store.find("resp_bob", "bob")).toBeDefined();
});

test("answers of one caller that are not finished take a quarter of the room at most, but for one", async () => {
  await using folder = await tempDir();
  await using store = responseStore({ path: fileIn(folder), maxBytes: 40_000 });
  const made = (id: string, bytes: number, owner = "ada") =>
    keptResponse(id, { owner, body: { text: "x".repeat(bytes) }, status: "queued" });
  await store.save(made("resp_1", 4000));
  await store.save(made("resp_2", 4000));
  expect(reasonOf(await rejectionOf(store.save(made("resp_3", 4000))))).toMatch(
    /made in the background/,
  );
  await store.save(made("resp_bob", 12_000, "bob"));
  await store.change("resp_1", { status: "completed" });
  await store.save(made("resp_4", 4000));
});

test("gives what an older version stored by a key's place to the key at that place, once", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "responses.sqlite");
  oldResponsesFile(path, {
    ...{ resp_1: "configured 1", resp_2: "configured 2", resp_3: "configured 3" },
    ...{ resp_key: "0123456789ab", resp_anyone: null },
  });
  {
    // Without keys, as another command of the program may be: it waits.
    await using store = responseStore({ path, formerOwners: {} });
    expect(await store.find("resp_1", "configured 1")).toMatchObject({ id: "resp_1" });
  }
  const formerOwners = { "configured 1": "configured ada", "configured 2": "configured bob" };
  {
    await using store = responseStore({ path, formerOwners });
    expect(await store.find("resp_1", "configured ada")).toMatchObject({ id: "resp_1" });
    expect(await store.find("resp_2", "configured bob")).toMatchObject({ id: "resp_2" });
    expect(await store.find("resp_2", "configured ada")).toBeUndefined();
    expect(await store.find("resp_key", "0123456789ab")).toMatchObject({ id: "resp_key" });
    expect(await store.find("resp_anyone", undefined)).toMatchObject({ id: "resp_anyone" });
    await store.save(keptResponse("resp_new"));
    expect(await store.tidy()).toEqual({ expired: 0, displaced: 0, isDone: true });
  }
  // A key that joins the list later is nobody's heir.
  const joined = { "configured 1": "configured bob", "configured 3": "configured eve" };
  await using store = responseStore({ path, formerOwners: joined });
  expect(await store.find("resp_1", "configured ada")).toMatchObject({ id: "resp_1" });
  expect(await store.find("resp_3", "configured eve")).toBeUndefined();
  expect(await store.find("resp_3", "formerly configured 3")).toMatchObject({ id: "resp_3" });
});
