import { expect, test } from "bun:test";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkResponses } from "../../../../src/cli/doctor/machine.ts";
import { ResponseRows } from "../../../../src/store/responses/response-rows.ts";
import { tempDir } from "../../../support/temp-dir.ts";

test("stored responses that cannot be read are a problem", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "responses.sqlite");
  const check = () => checkResponses({ dataDir: folder.path });
  expect(await check()).toMatchObject({ status: "ok", message: "0 responses are stored." });
  const row = { id: "resp_1", owner: null, created_at: 1, status: "completed", failure: null };
  {
    using rows = new ResponseRows(path, {});
    const texts = { background: 0, body: "{}", input: "[]", conversation: "[]" };
    rows.save({ ...row, ...texts, status: "completed" }, { before: 0, maxBytes: 1e6 });
  }
  expect(await check()).toMatchObject({ status: "ok", message: "1 responses are stored." });
  await writeFile(path, "damaged ".repeat(4096));
  const problem = { status: "problem", message: expect.stringContaining("cannot be read") };
  expect(await check()).toMatchObject(problem);
  await rm(path);
  await mkdir(path);
  expect(await check()).toMatchObject(problem);
});
