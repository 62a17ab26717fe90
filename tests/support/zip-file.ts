/** Zip files for tests, well made or hostile. */
import JSZip from "jszip";

export type ZipContent = Readonly<Record<string, string | Uint8Array>>;

/** A zip of files by their names, in this order. */
export async function zipOf(
  files: ZipContent,
  compression: "DEFLATE" | "STORE" = "DEFLATE",
): Promise<Uint8Array> {
  const zip = new JSZip();
  for (const [name, content] of Object.entries(files)) {
    zip.file(name, content, { createFolders: false });
  }
  return await zip.generateAsync({
    type: "uint8array",
    compression,
    compressionOptions: { level: 9 },
  });
}

const directoryEntry = Buffer.from("PK\x01\x02", "latin1");

/** A copy in which a field of an entry's line in the directory is another number; default: the last entry. */
export function withField(
  zip: Uint8Array,
  field: "flags" | "method" | "crc" | "packed size" | "size" | "offset",
  value: number,
  name?: string,
): Uint8Array {
  const bytes = Buffer.from(zip);
  const at = name === undefined ? bytes.lastIndexOf(directoryEntry) : bytes.lastIndexOf(name) - 46;
  const places = { flags: 8, method: 10, crc: 16, "packed size": 20, size: 24, offset: 42 };
  if (field === "flags" || field === "method") bytes.writeUInt16LE(value, at + places[field]);
  else bytes.writeUInt32LE(value, at + places[field]);
  return new Uint8Array(bytes);
}

export const withWrongChecksum = (zip: Uint8Array, name = "word/document.xml"): Uint8Array =>
  withField(zip, "crc", 1, name);

/** A directory of any number of entries that all stand for the same first file of `zip`. */
export function manyEntries(
  zip: Uint8Array,
  count: number,
  name: (at: number) => string,
): Uint8Array {
  const bytes = Buffer.from(zip);
  const first = bytes.indexOf(directoryEntry);
  const length = 46 + bytes.readUInt16LE(first + 28);
  const entries: Buffer[] = [];
  for (let at = 0; at < count; at += 1) {
    const text = Buffer.from(name(at));
    const entry = Buffer.concat([bytes.subarray(first, first + 46), text]);
    entry.writeUInt16LE(text.length, 28);
    entries.push(entry);
  }
  const directory = Buffer.concat([bytes.subarray(first, first + length), ...entries]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE((count + 1) & 0xffff, 8);
  end.writeUInt16LE((count + 1) & 0xffff, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(first, 16);
  return new Uint8Array(Buffer.concat([bytes.subarray(0, first), directory, end]));
}
