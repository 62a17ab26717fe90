import { describe, expect, test } from "bun:test";
import { defaultLimits } from "../../../../../src/ingest/readers/limits.ts";
import { ZipParts } from "../../../../../src/ingest/readers/office/zip.ts";
import { manyEntries, withField, zipOf } from "../../../../support/zip-file.ts";

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
const open = (bytes: Uint8Array, limits = {}): ZipParts =>
  new ZipParts(bytes, { ...defaultLimits, ...limits });
const reasonOf = (work: () => unknown): string => {
  try {
    work();
    return "";
  } catch (error) {
    return String(error);
  }
};

const content = "Llamas hum. ".repeat(20);
const zip = await zipOf({ "a.xml": content, "Folder/b.xml": "b" });
const plain = await zipOf({ "a.xml": content }, "STORE");

/** The same zip with numbers of 64 bits in its directory, as streaming writers leave them. */
function wide(bytes: Uint8Array): Uint8Array {
  const buffer = Buffer.from(bytes);
  const at = buffer.lastIndexOf(Buffer.from("PK\x01\x02", "latin1"));
  const end = buffer.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  const nameLength = buffer.readUInt16LE(at + 28);
  const entry = Buffer.from(buffer.subarray(at, at + 46 + nameLength));
  const extra = Buffer.alloc(4 + 24);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(24, 2);
  [24, 20, 42].forEach((field, index) => {
    extra.writeBigUInt64LE(BigInt(entry.readUInt32LE(field)), 4 + 8 * index);
    entry.writeUInt32LE(0xffffffff, field);
  });
  entry.writeUInt16LE(extra.length, 30);
  const directory = Buffer.concat([entry, extra]);
  const end64 = Buffer.alloc(56);
  end64.write("PK\x06\x06", "latin1");
  end64.writeBigUInt64LE(BigInt(directory.length), 40);
  end64.writeBigUInt64LE(BigInt(at), 48);
  const locator = Buffer.alloc(20);
  locator.write("PK\x06\x07", "latin1");
  locator.writeBigUInt64LE(BigInt(at + directory.length), 8);
  const last = Buffer.from(buffer.subarray(end, end + 22));
  last.writeUInt32LE(0xffffffff, 12);
  last.writeUInt32LE(0xffffffff, 16);
  return Buffer.concat([buffer.subarray(0, at), directory, end64, locator, last]);
}

describe("the parts of a zip", () => {
  test("are found by their names, whatever the case", () => {
    const parts = open(zip);
    expect(parts.names).toEqual(["a.xml", "Folder/b.xml"]);
    expect([text(parts.find("A.XML")), text(parts.read("folder/B.xml"))]).toEqual([content, "b"]);
    expect([parts.find("c.xml"), parts.has("c.xml")]).toEqual([undefined, false]);
  });

  test.each([
    ["stored as they are", plain],
    ["with numbers of 64 bits", wide(plain)],
    ["behind something else", Buffer.concat([Buffer.from("#!/bin/sh\n"), plain])],
    ["before a comment", Buffer.concat([plain.slice(0, -2), Buffer.from("\x05\0hello", "latin1")])],
  ])("may lie %s", (_, bytes) => {
    expect(text(open(bytes).read("a.xml"))).toBe(content);
  });

  test("lie in the file alone, whatever path their names are", async () => {
    const names = ["../../etc/passwd", "/etc/passwd", "..\\..\\windows", "a/./b"];
    const parts = open(await zipOf(Object.fromEntries(names.map((name) => [name, name]))));
    expect(parts.names.toSorted()).toEqual([
      "../../etc/passwd",
      "../../windows",
      "a/./b",
      "etc/passwd",
    ]);
    expect(parts.has("../secret")).toBe(false);
  });

  test.each<[string, Uint8Array, string]>([
    ["have another checksum", withField(plain, "crc", 7), "does not match its checksum"],
    ["are longer than they say", withField(zip, "size", 3, "a.xml"), "does not match its checksum"],
    [
      "are shorter than they say",
      withField(zip, "size", 9999, "a.xml"),
      "does not match its check",
    ],
    ["lie behind the end", withField(plain, "offset", 1_000_000), "is not where it should be"],
    ["lie elsewhere", withField(plain, "offset", 5), "is not where it should be"],
    ["end behind the end", withField(plain, "packed size", 1_000_000), "is cut off"],
    ["are packed in another way", withField(plain, "method", 14), "in a way that is not known"],
    ["are encrypted", withField(plain, "flags", 1), "is encrypted; save a copy without a password"],
    ["are packed wrongly", withField(plain, "method", 8), "rror"],
  ])("are refused if they %s", (_, bytes, reason) => {
    expect(reasonOf(() => open(bytes).read("a.xml"))).toContain(reason);
  });

  test("are refused wherever the file is cut off, and never read beyond it", () => {
    for (const whole of [zip, wide(plain)]) {
      for (let length = 0; length < whole.length; length += 1) {
        const reason = reasonOf(() => open(whole.slice(0, length)).read("a.xml"));
        expect(reason).toStartWith("Error: it");
      }
    }
  });

  test("are refused or read, whatever byte is another one", () => {
    for (let at = 0; at < zip.length; at += 1) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const bytes = zip.slice();
        bytes[at] = value;
        const reason = reasonOf(() => {
          const parts = open(bytes);
          for (const name of parts.names) parts.read(name);
        });
        expect(reason).not.toContain("ERR_OUT_OF_RANGE");
      }
    }
  });

  test("may be many, but not more than a zip has", () => {
    const names = (at: number): string => at.toString(36).padStart(6, "0");
    expect(open(manyEntries(plain, 60_000, names)).names).toHaveLength(60_001);
    expect(reasonOf(() => open(manyEntries(plain, 70_000, names)))).toContain(
      "more than 65535 entries",
    );
  });

  test("are counted together, though all of them lie in one place", async () => {
    const bomb = manyEntries(
      await zipOf({ "a.xml": "a".repeat(100_000) }),
      100,
      (at) => `${at}.xml`,
    );
    const parts = open(bomb, { max_unpacked_bytes: 1_000_000, max_unpack_ratio: 1_000_000 });
    const reason = reasonOf(() => {
      for (const name of parts.names) parts.read(name);
    });
    expect(reason).toContain("raise ingest.max_unpacked_bytes");
  });
});
