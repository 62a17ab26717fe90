import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { packageFolderOf, packageNotice } from "../../../src/packaging/notices.ts";
import { tempDir } from "../../support/temp-dir.ts";

async function noticeOf(described: object, files: Record<string, string> = {}) {
  await using folder = await tempDir();
  const about = { name: "a", version: "1.2.3", ...described };
  await writeFile(join(folder.path, "package.json"), JSON.stringify(about));
  await mkdir(join(folder.path, "licenses"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  return await packageNotice(folder.path);
}

describe("the notice of a package", () => {
  test("has its name, version, declared licence and text", async () => {
    const notice = await noticeOf(
      { license: "MIT" },
      { LICENSE: "\uFEFF\r\nFree.\r\nAs is.\r\n\r\n" },
    );
    expect(notice).toEqual({ name: "a", version: "1.2.3", license: "MIT", text: "Free.\nAs is." });
  });

  test("has every licence and notice of it once, and no code", async () => {
    const { text } = await noticeOf(
      { license: "MIT" },
      {
        "LICENSE-MIT.txt": "One",
        "LICENCE.md": "One",
        COPYING: "Two",
        "bundle.js.LICENSE.txt": "Three",
        NOTICE: "Four",
        "license.js": "code",
        "notice.d.ts": "code",
        "licensed.txt": "Another",
        "README.md": "Read me",
      },
    );
    expect(text.split("\n\n").sort()).toEqual(["Four", "One", "Three", "Two"]);
  });

  test("has no text where the package has no licence file", async () => {
    expect(await noticeOf({ license: "ISC" })).toMatchObject({ license: "ISC", text: "" });
  });

  test.each([
    [{ license: { type: "BSD", url: "there" } }, "BSD"],
    [{ licenses: [{ type: "MIT" }, { type: "GPL-2.0" }] }, "MIT OR GPL-2.0"],
    [{}, ""],
    [{ license: null }, ""],
  ])("has the licence that %j declares", async (described, license) => {
    expect((await noticeOf(described)).license).toBe(license);
  });
});

test.each([
  ["/r/node_modules/elysia/dist/index.mjs", "/r/node_modules/elysia"],
  ["/r/node_modules/@a/b/node_modules/c/x/y.js", "/r/node_modules/@a/b/node_modules/c"],
  ["/r/node_modules/@a/b/y.js", "/r/node_modules/@a/b"],
  ["C:\\r\\node_modules\\@a\\b\\y.js", "C:\\r\\node_modules\\@a\\b"],
  ["/r/src/main.ts", undefined],
])("a file belongs to the innermost package: %s", (path, folder) => {
  expect(packageFolderOf(path)).toBe(folder);
});
