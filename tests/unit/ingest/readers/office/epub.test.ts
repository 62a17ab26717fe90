import { describe, expect, test } from "bun:test";
import { readDocument } from "../../../../../src/ingest/readers/read.ts";
import { type BookParts, epubOf } from "../../../../support/epub-file.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = async (book: BookParts) => await readDocument("a.epub", await epubOf(book));

describe("a book", () => {
  test("has its pages in the order of its spine, by their headings", async () => {
    const texts = await read({
      pages: {
        "text/two.xhtml": "<h2>Second</h2><p>They spit.</p>",
        "text/one%20a.xhtml": "<h1>First</h1><p>They hum.</p><nav>Contents</nav>",
      },
      spine: ["text/one%20a.xhtml", "text/two.xhtml", "text/one%20a.xhtml"],
    });
    expect(texts).toEqual(["# First\n\nThey hum.", "# Llamas\n\n## Second\n\nThey spit."]);
  });

  test("leaves out its table of contents and what is no page", async () => {
    const texts = await read({
      pages: { "nav.xhtml": "<h1>Contents</h1>", "one.xhtml": "<p>Text.</p>", "cover.svg": "" },
      properties: { "nav.xhtml": "scripted nav" },
      types: { "cover.svg": "image/svg+xml" },
    });
    expect(texts).toEqual(["# Llamas\n\nText."]);
  });

  test("may be of the second edition, with an encoding of its own", async () => {
    const page =
      '<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>caf\xe9</p></body></html>';
    const texts = await read({ raw: { "one.xhtml": Buffer.from(page, "latin1") } });
    expect(texts).toEqual(["café"]);
  });

  test("may have scrambled fonts, but no protected pages", async () => {
    const encryption = (algorithm: string): string =>
      `<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="${algorithm}"/></enc:EncryptedData></encryption>`;
    const book = (algorithm: string): BookParts => ({
      pages: { "one.xhtml": "<p>Text.</p>" },
      more: { "META-INF/encryption.xml": encryption(algorithm) },
    });
    expect(await read(book("http://www.idpf.org/2008/embedding"))).toHaveLength(1);
    const refusal = await rejectionOf(read(book("http://www.w3.org/2001/04/xmlenc#aes256-cbc")));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: "is protected against copying (DRM); ask its seller for a copy without that.",
    });
  });

  test.each<[string, BookParts]>([
    ["a page is missing", { pages: {}, spine: ["gone.xhtml"] }],
    ["its list of pages is missing", { more: { "META-INF/container.xml": "<container/>" } }],
    ["its list of pages leads nowhere", { root: "../../../etc/passwd" }],
    ["it is not well-formed", { more: { "META-INF/container.xml": "<container" } }],
  ])("is refused where %s", async (_, book) => {
    expect(await rejectionOf(read(book))).toMatchObject({
      kind: "invalid_request",
      message: "is damaged or not an EPUB; get it again, or convert it with Calibre.",
    });
  });
});
