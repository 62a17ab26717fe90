import { expect, test } from "bun:test";
import { readJson } from "../../../../src/models/sources/http-request.ts";

test("JSON of a registry may begin with a byte order mark", async () => {
  expect(await readJson(new Response('\uFEFF{"dist":{}}'))).toEqual({ dist: {} });
});

test("what is no JSON, or too long, is nothing", async () => {
  expect(await readJson(new Response(""))).toBeUndefined();
  expect(await readJson(new Response("<html>"))).toBeUndefined();
  expect(await readJson(new Response(`"${"x".repeat(1_000_000)}"`))).toBeUndefined();
});
