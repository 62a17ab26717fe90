import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RetrieveResult } from "../../src/api/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyConfig } from "../support/tiny-node.ts";

describe("paddock ingest", () => {
  test("adds files that a running node then retrieves, and replaces them", async () => {
    await using folder = await tempDir();
    const write = (name: string, text: string): Promise<void> =>
      writeFile(join(folder.path, name), text);
    await write("paddock.toml", await tinyConfig());
    await write("animals.md", "# Animals\n\nllamas hum.\n\n# Plants\n\nroses bloom.");
    await write("notes.txt", "a plain note.");
    await using node = await servePaddock({ cwd: folder.path });
    const retrieve = async (): Promise<string[]> => {
      const response = await fetch(`${node.origin}/v1/retrieve`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          model: "tiny-embedding",
          messages: [{ role: "user", content: "llamas" }],
        }),
      });
      const { points } = await decode(RetrieveResult, response);
      return points.map(({ source }) => source).sort();
    };

    const first = await runPaddock(["ingest", "animals.md", "notes.txt"], { cwd: folder.path });
    expect(first).toMatchObject({
      code: 0,
      stdout: "Stored 3 passages of 2 of 2 files; the collection 'default' now has 3.\n",
    });
    expect(first.stderr).toContain("Storing passages");
    expect(await retrieve()).toEqual([
      "Animals\n\nllamas hum.",
      "Plants\n\nroses bloom.",
      "a plain note.",
    ]);

    await write("animals.md", "# Animals\n\nllamas spit.");
    await runPaddock(["ingest", "animals.md"], { cwd: folder.path });
    expect(await retrieve()).toEqual(["Animals\n\nllamas spit.", "a plain note."]);
  });

  test("reports a file that it cannot read, stores the rest, and exits with 1", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
    await writeFile(join(folder.path, "good.txt"), "good.");
    const files = ["good.txt", "missing.txt", "picture.png"];
    const { code, stdout, stderr } = await runPaddock(["ingest", ...files], { cwd: folder.path });
    expect(code).toBe(1);
    expect(stdout).toContain("Stored 1 passages of 1 of 3 files");
    expect(stderr).toContain("missing.txt cannot be read");
    expect(stderr).toContain("only .md, .markdown, .txt files are read");
  });
});
