/** A node and an ingest that are killed while passages go in. */
import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeUnderFault } from "../support/node-under-fault.ts";
import { runPaddock, servePaddock, startPaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { waitFor } from "../support/wait-for.ts";

const count = async (cwd: string): Promise<number> =>
  Number((await runPaddock(["collections", "count"], { cwd })).stdout);

describe("killed without a warning", () => {
  test("both while documents go in: what was stored is served, the next ingest does the rest", async () => {
    await using under = await nodeUnderFault();
    const cwd = under.folder.path;
    const parts = Array.from({ length: 600 }, (_, at) => `# Part ${at}\n\nThis is part ${at}.`);
    await mkdir(join(cwd, "many"));
    const small = parts
      .slice(0, 300)
      .map((part, at) => writeFile(join(cwd, `many/${at}.md`), part));
    await Promise.all([...small, writeFile(join(cwd, "zlong.md"), parts.join("\n\n"))]);
    const paths = ["many", "zlong.md"];
    const ingest = startPaddock(["ingest", ...paths], { cwd });
    let before = 2;
    await waitFor("passages of the document", async () => {
      before = await count(cwd);
      return before > 2;
    });
    ingest.process.kill("SIGKILL");
    await ingest.exit();
    await under.restart();
    const kept = await count(cwd);
    expect(kept).toBeGreaterThanOrEqual(before);
    expect((await under.ready()).status).toBe(200);
    const again = await runPaddock(["ingest", ...paths, "--json"], { cwd });
    expect(again.code).toBe(0);
    expect(await count(cwd)).toBe(902);
    // Nothing that was stored is embedded again.
    expect(JSON.parse(again.stdout).passages.stored).toBe(902 - kept);
  });

  test("while a new node takes in its handbook: the next start goes on where it was", async () => {
    await using folder = await tempDir();
    const { embedding } = await tinyModels();
    const config = `[engine]\nthreads = 1\n[[models]]\nname = "tiny-embedding"\ntype = "embedding"\nsource = ${JSON.stringify(embedding)}\n`;
    await writeFile(join(folder.path, "paddock.toml"), config);
    const options = { cwd: folder.path };
    const first = startPaddock(["serve", "--port", "0"], options);
    let kept = 0;
    await waitFor("passages of the handbook", async () => {
      kept = await count(folder.path);
      return kept > 0;
    });
    first.process.kill("SIGKILL");
    await first.exit();
    await using _ = await servePaddock(options);
    const whole = await count(folder.path);
    expect(whole).toBeGreaterThan(kept);
    // Nothing is missing, nothing is there twice: a collection that was filled in one go has as much.
    await using other = await tempDir();
    await writeFile(join(other.path, "paddock.toml"), config);
    await using node = await servePaddock({ cwd: other.path });
    expect([node.origin.length > 0, await count(other.path)]).toEqual([true, whole]);
  });
});
