/** Uploads on a disk that fails in the middle of one. */
import { expect, test } from "bun:test";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DiskFiles } from "../../../../src/store/documents/disk-files.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { tempDir } from "../../../support/temp-dir.ts";

async function* pieces(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode("Llamas hum.");
}

test("an upload that can neither be saved nor deleted fails with the reason that it cannot be saved", async () => {
  await using folder = await tempDir();
  const store = async (): Promise<void> => {
    await using incoming = await new DiskFiles(folder.path).receive(pieces(), async () => {});
    const [name = ""] = await readdir(folder.path);
    // A folder with content is neither moved over another one nor removed as a file.
    await rm(join(folder.path, name));
    for (const each of [name, "file-1"])
      await mkdir(join(folder.path, each, "content"), { recursive: true });
    await incoming.save("file-1");
  };
  expect(await rejectionOf(store())).toMatchObject({ kind: "unavailable" });
});

test("a file that may not be read is unavailable", async () => {
  await using folder = await tempDir();
  await writeFile(join(folder.path, "file-1"), "Llamas hum.");
  await chmod(join(folder.path, "file-1"), 0);
  const module = join(import.meta.dir, "../../../../src/store/documents/disk-files.ts");
  const script = `const { DiskFiles } = await import(${JSON.stringify(module)});
    await new DiskFiles(${JSON.stringify(folder.path)}).open("file-1").catch(({ kind }) => console.log(kind));`;
  const rights = "-dac_override,-dac_read_search";
  const withoutRights = process.getuid?.() === 0 ? ["setpriv", "--bounding-set", rights] : [];
  const reading = Bun.spawn([...withoutRights, process.execPath, "-e", script]);
  expect(await new Response(reading.stdout).text()).toBe("unavailable\n");
});
