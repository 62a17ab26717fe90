/** Uploads on a disk that fails in the middle of one. */
import { expect, test } from "bun:test";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setOrphansAside } from "../../../../src/core/documents/orphans.ts";
import { DiskFiles } from "../../../../src/store/documents/disk-files.ts";
import { sqliteDocuments } from "../../../../src/store/documents/sqlite-documents.ts";
import { recordingLog } from "../../../support/recording-log.ts";
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

test("a file that is deleted while uploads are compared with their registry keeps no other from its place", async () => {
  await using folder = await tempDir();
  const place = join(folder.path, "files");
  await mkdir(place);
  const ids = ["file-1", "file-2", "file-3"];
  for (const id of ids) await writeFile(join(place, id), "Llamas hum.");
  const files = new DiskFiles(place);
  await using registry = sqliteDocuments(join(folder.path, "documents.sqlite"));
  const known = { filename: "a.md", bytes: 11, sha256: "", type: "text/markdown", purpose: "" };
  await registry.addFile({ ...known, id: "file-4", createdAt: new Date(0) });
  const { log, lines } = recordingLog();
  let listed = 0;
  const deleting = Object.assign(files, {
    names: async () => {
      const found = await DiskFiles.prototype.names.call(files);
      if (++listed === 2) await files.remove("file-1");
      return found;
    },
  });
  await setOrphansAside({ registry, files: deleting, log });
  expect((await readdir(join(place, "orphaned"))).sort()).toEqual(["file-2", "file-3"]);
  expect(lines.map(({ message }) => message)).not.toContain(
    "uploads cannot be compared with their registry; they stay as they are",
  );
});
