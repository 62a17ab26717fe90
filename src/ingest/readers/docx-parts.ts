/** The parts of a Word file that hold text, counted before the library behind builds trees of them. */
import JSZip from "jszip";
import { beyond, type ReadLimits } from "./limits.ts";
import { ZipParts } from "./zip-parts.ts";

/** The same file without pictures and without compression, so that the library behind unpacks nothing. */
export async function boundedParts(bytes: Uint8Array, limits: ReadLimits): Promise<Buffer> {
  const packed = new ZipParts(bytes, limits);
  const plain = new JSZip();
  let elements = 0;
  for (const name of packed.names) {
    if (!/\.(xml|rels)$/i.test(name)) continue;
    const content = packed.read(name);
    elements += elementsOf(content);
    if (elements > limits.max_elements) throw beyond("max_elements", limits);
    plain.file(name, content);
  }
  return await plain.generateAsync({ type: "nodebuffer", compression: "STORE" });
}

const lessThan = 0x3c;
const slash = 0x2f;

/** How many elements an XML text has at most; comments and the like count too. */
export function elementsOf(xml: Uint8Array): number {
  let count = 0;
  for (let at = xml.indexOf(lessThan); at !== -1; at = xml.indexOf(lessThan, at + 1)) {
    if (xml[at + 1] !== slash) count += 1;
  }
  return count;
}
