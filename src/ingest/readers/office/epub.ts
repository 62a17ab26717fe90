/** Reads EPUB books: the pages in reading order, each as a web page. */
import { posix } from "node:path";
import { readHtml } from "../html/html.ts";
import { asUnreadable, unreadable } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import { countElements, type ElementCount, parseXml, partIn } from "./package.ts";
import { ZipParts } from "./zip.ts";

export function readEpub(bytes: Uint8Array, options: ReadOptions): ReadText {
  try {
    const parts = new ZipParts(bytes, options.limits);
    refuseProtected(parts);
    const count: ElementCount = { elements: 0, limits: options.limits };
    return pageNames(parts).flatMap((name) => {
      const page = parts.read(name);
      countElements(page, count);
      return readHtml(page, options);
    });
  } catch (cause) {
    const why = "is damaged or not an EPUB; get it again, or convert it with Calibre";
    throw asUnreadable(cause, why);
  }
}

/** Fonts may be scrambled by these, which says nothing of the text. */
const fontAlgorithms = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];

function refuseProtected(parts: ZipParts): void {
  const encryption = parts.find("META-INF/encryption.xml");
  if (encryption === undefined) return;
  let depth = 0;
  parseXml(encryption, {
    open: (name, { Algorithm: algorithm = "" }) => {
      if (name === "EncryptedData") depth += 1;
      if (name !== "EncryptionMethod" || depth === 0 || fontAlgorithms.includes(algorithm)) return;
      throw unreadable(
        "is protected against copying (DRM); ask its seller for a copy without that",
      );
    },
    close: (name) => {
      if (name === "EncryptedData") depth -= 1;
    },
  });
}

/** The pages of the book in the order of its spine, each once, without its table of contents. */
function pageNames(parts: ZipParts): string[] {
  let packageName: string | undefined;
  parseXml(parts.read("META-INF/container.xml"), {
    open: (name, { "full-path": path }) => {
      if (name === "rootfile") packageName ??= path;
    },
  });
  if (packageName === undefined) throw new Error("it does not say where its pages are listed");
  const folder = posix.dirname(packageName);
  const items = new Map<string, { name: string; isPage: boolean }>();
  const pages = new Set<string>();
  parseXml(parts.read(partIn(".", packageName)), {
    open: (element, attributes) => {
      const { id = "", href = "", properties = "", idref = "" } = attributes;
      if (element === "item") {
        const isPage =
          /html/i.test(attributes["media-type"] ?? "") && !/(?:^|\s)nav(?:\s|$)/.test(properties);
        items.set(id, { name: partIn(folder, decoded(href)), isPage });
      } else if (element === "itemref") {
        const item = items.get(idref);
        if (item === undefined) throw new Error(`the page ${idref} is missing`);
        if (item.isPage) pages.add(item.name);
      }
    },
  });
  return [...pages];
}

/** Addresses are written with percent signs, and may have a place in the page behind them. */
function decoded(href: string): string {
  const [path = ""] = href.split("#", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
