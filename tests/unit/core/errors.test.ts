import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { hasCode } from "../../../src/core/errors.ts";
import { rejectionOf } from "../../support/rejection.ts";

test("an error of the system is told by its code", async () => {
  const error = await rejectionOf(readFile("/nowhere/at/all"));
  expect([hasCode(error, "ENOENT"), hasCode(error, "EEXIST")]).toEqual([true, false]);
});

test("what is no error, or has no code, has none", () => {
  expect([hasCode({ code: "ENOENT" }, "ENOENT"), hasCode(new Error("ENOENT"), "ENOENT")]).toEqual([
    false,
    false,
  ]);
});

test("no error is made once for all callers: it has one stack, of when the program was loaded", async () => {
  const shared: string[] = [];
  for await (const path of new Bun.Glob("src/**/*.ts").scan()) {
    const text = await readFile(path, "utf8");
    if (/^(?:export )?const \w+(?:: \w+)? = new \w*Error\(/m.test(text)) shared.push(path);
  }
  expect(shared).toEqual([]);
});
