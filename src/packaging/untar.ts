/** Unpacks the tarball of a package as it comes: its files, and nothing outside of the folder. */
import { mkdir, open } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";

const block = 512;
const decoder = new TextDecoder();

/** Writes the files under the tarball's own folder, which packages call `package`. */
export async function untar(
  content: ReadableStream<Uint8Array>,
  folder: string,
  mostBytes: number,
): Promise<void> {
  const reader = new ByteReader(content);
  let written = 0;
  let longName: string | undefined;
  for (let header = await reader.take(block); header !== undefined; ) {
    const size = Number.parseInt(text(header, 124, 12), 8) || 0;
    const kind = String.fromCharCode(header[156] ?? 0);
    const name = longName ?? nameOf(header);
    longName = undefined;
    written += size;
    if (written > mostBytes) throw new Error("it holds more than a package should");
    if (kind === "x" || kind === "L") {
      const extension = text((await reader.take(size)) ?? new Uint8Array(), 0, size);
      longName = kind === "L" ? extension : paxName(extension);
    } else if (kind === "0" || kind === "\0") {
      await writeFile(reader, placeOf(folder, name), size);
    } else await reader.skip(size);
    await reader.skip((block - (size % block)) % block);
    header = await reader.take(block);
    // Two blocks of zeros end it.
    if (header?.every((byte) => byte === 0)) break;
  }
}

async function writeFile(reader: ByteReader, path: string, size: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, "wx", 0o644);
  try {
    for (let left = size; left > 0; ) {
      const piece = await reader.some(left);
      if (piece === undefined) throw new Error("it is cut off");
      await file.write(piece);
      left -= piece.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Without the first folder of its path; a path that leads elsewhere is refused. */
function placeOf(folder: string, name: string): string {
  const inner = normalize(name.split("/").slice(1).join("/"));
  if (inner === "." || inner.startsWith("..") || inner.startsWith(sep)) {
    throw new Error(`it holds a file outside of itself: ${name}`);
  }
  return join(folder, inner);
}

function nameOf(header: Uint8Array): string {
  const prefix = text(header, 257, 5) === "ustar" ? text(header, 345, 155) : "";
  const name = text(header, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

const paxName = (records: string): string | undefined => /\d+ path=(.*)\n/.exec(records)?.[1];

function text(bytes: Uint8Array, start: number, length: number): string {
  const field = bytes.subarray(start, start + length);
  const end = field.indexOf(0);
  return decoder.decode(end === -1 ? field : field.subarray(0, end)).trim();
}

/** Bytes of a stream in the pieces that are asked for. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** At most so many; undefined at the end. */
  async some(most: number): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return undefined;
      this.#rest = value;
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  /** Exactly so many; undefined at the end. */
  async take(count: number): Promise<Uint8Array | undefined> {
    const bytes = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      const piece = await this.some(count - filled);
      if (piece === undefined) {
        if (filled === 0) return undefined;
        throw new Error("it is cut off");
      }
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      const piece = await this.some(left);
      if (piece === undefined) return;
      left -= piece.length;
    }
  }
}
