/** Books in EPUB, well made or hostile. */
import { type ZipContent, zipOf } from "./zip-file.ts";

export interface BookParts {
  /** What stands in the body of each page, by its address. */
  pages?: Readonly<Record<string, string>>;
  /** Pages as they are. */
  raw?: Readonly<Record<string, string | Uint8Array>>;
  /** Addresses of pages in the order of reading; default: all. */
  spine?: readonly string[];
  properties?: Readonly<Record<string, string>>;
  types?: Readonly<Record<string, string>>;
  /** Where its list of pages is said to be. */
  root?: string;
  more?: ZipContent;
}

const page = (body: string): string =>
  `<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Llamas</title></head><body>${body}</body></html>`;

export async function epubOf({
  pages = {},
  raw = {},
  spine,
  properties = {},
  types = {},
  root = "OEBPS/content.opf",
  more = {},
}: BookParts): Promise<Uint8Array> {
  const files = {
    ...Object.fromEntries(Object.entries(pages).map(([href, body]) => [href, page(body)])),
    ...raw,
  };
  const addresses = [...new Set([...Object.keys(files), ...(spine ?? [])])];
  const idOf = (href: string): string => `i${addresses.indexOf(href)}`;
  const items = addresses.map(
    (href) =>
      `<item id="${idOf(href)}" href="${href}" media-type="${types[href] ?? "application/xhtml+xml"}"${properties[href] === undefined ? "" : ` properties="${properties[href]}"`}/>`,
  );
  const order = (spine ?? Object.keys(files)).map((href) => `<itemref idref="${idOf(href)}"/>`);
  return await zipOf({
    mimetype: "application/epub+zip",
    "META-INF/container.xml": `<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="${root}" media-type="application/oebps-package+xml"/></rootfiles></container>`,
    "OEBPS/content.opf": `<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>${items.join("")}</manifest><spine>${order.join("")}</spine></package>`,
    ...Object.fromEntries(
      Object.entries(files).map(([href, content]) => [
        `OEBPS/${decodeURIComponent(href)}`,
        content,
      ]),
    ),
    ...more,
  });
}
