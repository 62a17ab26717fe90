/** The parts of a Word file that hold text, unpacked within bounds: what a file says of its own sizes may be a lie. */
import JSZip from "jszip";
import { beyond, type ReadLimits } from "./limits.ts";
import { unreadable } from "./unreadable.ts";

/** Word writes about a dozen parts, and one for each picture. */
const mostParts = 10_000;
/** Any file may unpack to this, whatever its own size. */
const smallBytes = 256 << 10;

/** The same file without pictures and without compression, so that the library behind unpacks nothing. */
export async function boundedParts(bytes: Uint8Array, limits: ReadLimits): Promise<Buffer> {
  const packed = await JSZip.loadAsync(bytes);
  const parts = Object.values(packed.files).filter(({ dir }) => !dir);
  if (parts.length > mostParts) {
    throw unreadable(`has ${parts.length} parts; a Word document has at most ${mostParts}`);
  }
  const plain = new JSZip();
  const most = Math.min(
    limits.max_unpacked_bytes,
    Math.max(smallBytes, limits.max_unpack_ratio * bytes.length),
  );
  const refusal = beyond(
    most === limits.max_unpacked_bytes ? "max_unpacked_bytes" : "max_unpack_ratio",
    limits,
  );
  let room = most;
  let elements = 0;
  for (const part of parts) {
    if (!/\.(xml|rels)$/i.test(part.name)) continue;
    if (declaredSize(part) > room) throw refusal;
    const content = await unpacked(part, room);
    if (content === undefined) throw refusal;
    room -= content.length;
    elements += elementsOf(content);
    if (elements > limits.max_elements) throw beyond("max_elements", limits);
    plain.file(part.name, content);
  }
  return await plain.generateAsync({ type: "nodebuffer", compression: "STORE" });
}

/** The sizes that the zip's directory claims: they refuse a bomb that tells the truth before anything is unpacked. */
function declaredSize(part: JSZip.JSZipObject): number {
  const data: unknown = Reflect.get(part, "_data");
  if (typeof data !== "object" || data === null) return 0;
  const size: unknown = Reflect.get(data, "uncompressedSize");
  return typeof size === "number" ? size : 0;
}

/** The unpacked part; undefined as soon as it is longer than `most`. */
function unpacked(part: JSZip.JSZipObject, most: number): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const pieces: Buffer[] = [];
  let bytes = 0;
  const stream = part.nodeStream();
  stream.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > most) {
      stream.pause();
      resolve(undefined);
    } else pieces.push(piece);
  });
  stream.on("end", () => resolve(Buffer.concat(pieces)));
  stream.on("error", reject);
  return promise;
}

const lessThan = 0x3c;
const slash = 0x2f;

function elementsOf(xml: Buffer): number {
  let count = 0;
  for (let at = xml.indexOf(lessThan); at !== -1; at = xml.indexOf(lessThan, at + 1)) {
    if (xml[at + 1] !== slash) count += 1;
  }
  return count;
}
