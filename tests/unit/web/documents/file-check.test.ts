import { describe, expect, test } from "bun:test";
import { refusalOf, sentName } from "../../../../src/web/documents/file-check.ts";

describe("a file before it is sent", () => {
  test.each([
    [0, 100, "It is empty: there is nothing to read in it."],
    [0, undefined, "It is empty: there is nothing to read in it."],
    [101, 100, "It has 101 bytes, and this node takes files of at most 100 bytes."],
    [100, 100, undefined],
    [1e12, undefined, undefined],
  ])("of %p bytes, where %p may be sent", (size, most, refusal) => {
    expect(refusalOf({ size }, most)).toBe(refusal);
  });

  test.each([
    ["notes.md", "notes.md"],
    ["می\u200cخواهم.pdf", "میخواهم.pdf"],
    ["gpj.\u202eevil.exe", "gpj.evil.exe"],
    ["a\nb\u0000.md", "ab.md"],
    ['say "hi".md', "say 'hi'.md"],
    ["e\u0301.md", "\u00e9.md"],
    ["\ud800.md", "\ufffd.md"],
    ["\u200b", "document"],
    ["..", "document"],
    [`${"x".repeat(300)}.docx`, `${"x".repeat(195)}.docx`],
    [`${"x".repeat(194)}😀${"x".repeat(9)}.docx`, `${"x".repeat(194)}\ufffd.docx`],
  ])("is sent under a name that the node takes: %j", (name, sent) => {
    expect(sentName(name)).toBe(sent);
  });
});
