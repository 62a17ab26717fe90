import { describe, expect, test } from "bun:test";
import { readDocument } from "../../../../src/ingest/readers/read.ts";
import { rejectionOf } from "../../../support/rejection.ts";

const bytesOf = (lines: readonly string[], end = "\r\n"): Uint8Array =>
  new Uint8Array(Buffer.from(lines.join(end), "latin1"));
const read = async (...lines: string[]): Promise<string> =>
  (await readDocument("a.eml", bytesOf(lines))).join("\n-----\n");

const head = [
  "From: Ann <ann@example.org>",
  'To: "Smith, Bob" <bob@example.org>, carl@example.org',
  "Date: Fri, 1 Mar 2024 14:30:05 +0100",
];
const parts = (type: string, ...bodies: readonly string[][]): string[] => [
  `Content-Type: multipart/${type}; boundary="b-${type}"`,
  "",
  "This is a message in several parts.",
  ...bodies.flatMap((body) => [`--b-${type}`, ...body]),
  `--b-${type}--`,
];

describe("an e-mail", () => {
  test("has its subject as a heading, who wrote to whom and when, and its text", async () => {
    const text = await read(
      "Return-Path: <ann@example.org>",
      ...head,
      "Cc: dora@example.org",
      "Subject: =?utf-8?B?TGzDpG1h?= =?iso-8859-1?Q?s_h=F6ren?=",
      "",
      "Hello,",
      "# they hum.",
      "Ann",
      "-- ",
      "ACME",
    );
    expect(text).toBe(
      "# Llämas hören\n\nFrom: Ann <ann@example.org>\nTo: Smith, Bob <bob@example.org>, carl@example.org\n" +
        "Cc: dora@example.org\nDate: 2024-03-01 13:30 UTC\n\nHello,\n\\# they hum.\nAnn\n\n-- \nACME",
    );
  });

  test.each([
    ["quoted-printable", "text/plain; charset=iso-8859-1", "caf=E9 =\r\nau lait=20"],
    ["base64", "text/plain; charset=utf-8", Buffer.from("café au lait").toString("base64")],
    ["8bit", "text/plain; charset=windows-1252", "caf\xe9 au lait"],
    ["7bit", "text/html", "<style>p{}</style><p>caf&eacute; <b>au</b> lait</p>"],
  ])("may be encoded in %s of %s", async (encoding, type, body) => {
    const text = await read(
      ...head,
      "Subject: S",
      `Content-Type: ${type}`,
      `Content-Transfer-Encoding: ${encoding}`,
      "",
      body,
    );
    expect(text.split("\n\n").slice(2)).toEqual(["café au lait"]);
  });

  test("is taken as plain text rather than as HTML, if there is some", async () => {
    const plain = ["Content-Type: text/plain", "", "plain"];
    const html = ["Content-Type: text/html", "", "<h2>Title</h2><ul><li>one<li>two</ul>"];
    const blank = ["Content-Type: text/plain", "", " "];
    const both = await read(...head, "Subject: S", ...parts("alternative", plain, html));
    expect(both).toEndWith("\n\nplain");
    const one = await read(...head, "Subject: S", ...parts("alternative", blank, html));
    expect(one).toEndWith("\n\n## Title\n\n- one\n- two");
  });

  test("names its attachments and does not read them", async () => {
    const text = await read(
      ...head,
      "Subject: S",
      ...parts(
        "mixed",
        ["Content-Type: text/plain", "", "See below."],
        [
          "Content-Type: application/pdf",
          "Content-Disposition: attachment; filename*=utf-8''offer%20%C3%A4.pdf",
          "Content-Transfer-Encoding: base64",
          "",
          "c2VjcmV0",
        ],
        ["Content-Type: text/plain", "Content-Disposition: attachment", "", "secret"],
      ),
    );
    expect(text).toEndWith(
      "\n\nSee below.\n\nAttachments, which were not read: offer ä.pdf (application/pdf), text/plain",
    );
    expect(text).not.toContain("secret");
  });

  test("names so many of its addresses and attachments as one can read", async () => {
    const addresses = Array.from({ length: 60 }, (_, at) => `p${at}@example.org`).join(", ");
    const attached = Array.from({ length: 60 }, (_, at) => [`Content-Type: image/x${at}`, "", "x"]);
    const text = await read(
      ...head,
      `Cc: ${addresses}`,
      "Subject: S",
      ...parts("mixed", ...attached),
    );
    expect(text).toContain(", p49@example.org and 10 more\n");
    expect(text).toEndWith(", image/x49 and 10 more");
  });

  test("leaves out pictures that stand in its text", async () => {
    const text = await read(
      ...head,
      "Subject: S",
      ...parts(
        "related",
        ["Content-Type: text/html", "", '<p>Look: <img src="cid:1"></p>'],
        [
          "Content-Type: image/png",
          "Content-ID: <1>",
          "Content-Transfer-Encoding: base64",
          "",
          "AA==",
        ],
      ),
    );
    expect(text).toEndWith("\n\nLook:");
  });

  test("has messages within it as sections", async () => {
    const inner = [
      "Content-Type: message/rfc822",
      "",
      "From: Carl <carl@example.org>",
      "Subject: Wool",
      "",
      "It is warm.",
    ];
    const text = await read(
      ...head,
      "Subject: Fwd",
      ...parts("mixed", ["Content-Type: text/plain", "", "See:"], inner),
    );
    expect(text).toEndWith("\n\nSee:\n\n## Wool\n\nFrom: Carl <carl@example.org>\n\nIt is warm.");
  });

  test("does not count signatures as attachments, and may come out of a mailbox", async () => {
    const text = await read(
      "From ann@example.org Fri Mar  1 14:30:00 2024",
      "Subject: S",
      ...parts(
        "signed",
        ["Content-Type: text/plain", "", "Signed."],
        ["Content-Type: application/pgp-signature; name=signature.asc", "", "x"],
      ),
    );
    expect(text).toBe("# S\n\nSigned.");
  });

  test("without a subject or a body is still one", async () => {
    expect(await read(...head.slice(0, 2))).toStartWith("# (no subject)\n\nFrom: Ann");
  });

  test("may have lines that end as on Unix, and be one by its content", async () => {
    const bytes = bytesOf([...head, "Subject: S", "", "Text."], "\n");
    expect(await readDocument("message", bytes)).toEqual([expect.stringContaining("\n\nText.")]);
  });

  test.each([
    [
      "not one",
      ["Dear Ann,", "From: here"],
      "is not an e-mail: it does not begin with header lines.",
    ],
    [
      "encrypted by PGP",
      [...head, "Content-Type: multipart/encrypted; boundary=a", "", "--a"],
      "is encrypted; open it",
    ],
    [
      "encrypted by S/MIME",
      [...head, "Content-Type: application/pkcs7-mime; smime-type=enveloped-data", "", "MIIB"],
      "is encrypted; open it",
    ],
  ])("is refused if it is %s", async (_, lines, why) => {
    expect(await rejectionOf(read(...lines))).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining(why),
    });
  });
});
