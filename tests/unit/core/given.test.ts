import { expect, test } from "bun:test";
import { given } from "../../../src/core/given.ts";

test("leaves out what is undefined, and nothing else", () => {
  const fields: { seed?: number | undefined; stop: string | null; format: string | undefined } = {
    seed: 0,
    stop: null,
    format: undefined,
  };
  expect(Object.entries(given(fields))).toEqual([
    ["seed", 0],
    ["stop", null],
  ]);
  expect(Object.entries(given({ text: "", flag: false, missing: undefined }))).toEqual([
    ["text", ""],
    ["flag", false],
  ]);
});

test("has a type whose optional fields are never undefined", () => {
  const name: string | undefined = new Map<string, string>().get("name");
  const exact: { name?: string; size: number } = given({ name, size: 1 });
  expect(Object.keys(exact)).toEqual(["size"]);
});
