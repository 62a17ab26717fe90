import { describe, expect, test } from "bun:test";
import { tarEntries } from "../../../../../src/models/sources/npm/tar.ts";
import { CountedTurns } from "../../../../support/counted-turns.ts";
import { padding, tarHeader, tarOf } from "../../../../support/npm-registry.ts";

async function* inPieces(archive: Uint8Array, step: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += step) yield archive.subarray(at, at + step);
}

async function readAll(archive: Uint8Array, step = archive.length): Promise<[string, string][]> {
  return await Array.fromAsync(tarEntries(inPieces(archive, step)), async ({ name, content }) => [
    name,
    Buffer.concat(await Array.fromAsync(content)).toString(),
  ]);
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a package's archive", () => {
  const files = { "package.json": "{}", "dist/a.txt": "a".repeat(700), empty: "" };

  test.each([1, 511, 512, 513, 100_000])("is read in pieces of %d bytes", async (step) => {
    expect(await readAll(tarOf(files), step)).toEqual(Object.entries(files));
  });

  test("may say long names before their files, as pax and as GNU do", async () => {
    const long = `${"folder/".repeat(20)}file`;
    const path = ` path=package/${long}\n`;
    const record = `${path.length + 3}${path}`;
    const gnu = `package/${long}2\0`;
    const archive = Buffer.concat([
      tarHeader("PaxHeader", record.length, "x"),
      bytesOf(record),
      padding(record.length),
      tarHeader("package/short", 1),
      bytesOf("1"),
      padding(1),
      tarHeader("././@LongLink", gnu.length, "L"),
      bytesOf(gnu),
      padding(gnu.length),
      tarHeader("package/short", 1),
      bytesOf("2"),
      padding(1),
    ]);
    expect(await readAll(archive, 100)).toEqual([
      [long, "1"],
      [`${long}2`, "2"],
    ]);
  });

  test("is read on after a file that nobody reads", async () => {
    const names: string[] = [];
    for await (const { name } of tarEntries(inPieces(tarOf(files), 300))) names.push(name);
    expect(names).toEqual(Object.keys(files));
  });

  test("is read in turns of the loop where it has many entries", async () => {
    const entries = 2000;
    const archive = Buffer.concat(Array.from({ length: entries }, () => tarHeader("package/a", 0)));
    using turns = new CountedTurns();
    expect(await readAll(archive)).toHaveLength(entries);
    expect(turns.now).toBeGreaterThan(entries / 100);
  });

  test("keeps links and folders for nobody", async () => {
    const archive = Buffer.concat([
      tarHeader("package/link", 0, "2"),
      tarHeader("package/folder/", 0, "5"),
    ]);
    expect(await readAll(archive)).toEqual([]);
  });

  test("ends at its first empty block, and what comes after that is only passed over", async () => {
    const archive = Buffer.concat([tarOf(files), tarHeader("package/more", 0)]);
    let isPassed = false;
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield* inPieces(archive, 700);
      yield new Uint8Array(64 * 1024);
      isPassed = true;
    }
    const names = await Array.fromAsync(tarEntries(pieces()), ({ name }) => name);
    expect([names, isPassed]).toEqual([Object.keys(files), true]);
  });

  test("is refused where it is damaged, or ends too early", async () => {
    const whole = tarOf(files);
    const damaged = whole.slice();
    damaged[3] = 65;
    const refusal = "archive is damaged";
    expect(readAll(damaged)).rejects.toThrow(refusal);
    expect(readAll(whole.subarray(0, 600))).rejects.toThrow(refusal);
    expect(readAll(whole.subarray(0, 1536 + 200))).rejects.toThrow(refusal);
    const endless = tarHeader("PaxHeader", 8 ** 10, "x");
    expect(readAll(endless)).rejects.toThrow(refusal);
  });
});
