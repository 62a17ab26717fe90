import { describe, expect, test } from "bun:test";
import { type ReadText, readDocument } from "../../../../src/ingest/readers/read.ts";
import { rejectionOf } from "../../../support/rejection.ts";

const read = (text: string, textField?: string): Promise<ReadText> =>
  readDocument(
    "a.jsonl",
    new TextEncoder().encode(text),
    textField === undefined ? {} : { textField },
  );

const refused = (message: string) => ({ kind: "invalid_request", message });

describe("a record", () => {
  test("gives the text of its text field, under its title", async () => {
    const lines = [
      '\ufeff{"id": 1, "text": "Llamas hum.", "description": "not this"}\r',
      "",
      '  {"Title": "Spit", "Content": "line one\\n\\nline two"}  ',
      '{"question": "Why?", "answer": "Because."}',
    ];
    expect(await read(lines.join("\n"))).toEqual([
      "Llamas hum.",
      "# Spit\n\nline one\n\nline two",
      "# Why?\n\nBecause.",
    ]);
  });

  test("may be a string itself", async () => {
    expect(await read('"Llamas hum."\n" "\n"Alpacas spit."')).toEqual([
      "Llamas hum.",
      "Alpacas spit.",
    ]);
  });

  test("gives nothing where its text is blank or null", async () => {
    expect(await read('{"text": " "}\n{"text": null}\n')).toEqual([]);
  });

  test("has its text in a field that holds text, not in one of another kind", async () => {
    expect(await read('{"text": 7, "content": {"a": 1}, "body": "Llamas hum."}')).toEqual([
      "Llamas hum.",
    ]);
  });

  test("gives the field that is asked for", async () => {
    expect(await read('{"text": "not this", "notes": "Llamas hum."}', "Notes")).toEqual([
      "Llamas hum.",
    ]);
  });
});

describe("a line is refused by its number", () => {
  test.each([
    [
      "that is not JSON",
      '{"text": "a"}\n\n{"text": ',
      "has no JSON in line 3; write one record a line.",
    ],
    ["with a number", "7", "has neither a JSON object nor a string in line 1."],
    ["with a list", '{"text": "a"}\n["a"]', "has neither a JSON object nor a string in line 2."],
    ["with null", "null", "has neither a JSON object nor a string in line 1."],
    [
      "with fields of other names",
      '{"id": "1", "name": "Tina", "age": 7}',
      "has no text field with a usual name for text in line 1; there is 'id', 'name'; " +
        "choose with --text-field NAME.",
    ],
    [
      "without a text field",
      '{"age": 7}',
      "has no text field with a usual name for text in line 1; there is no text field at all; " +
        "choose with --text-field NAME.",
    ],
  ])("%s", async (_, lines, message) => {
    expect(await rejectionOf(read(lines))).toMatchObject(refused(message));
  });

  test("without the field that is asked for", async () => {
    expect(await rejectionOf(read('{"notes": "a"}\n{"text": "b"}', "notes"))).toMatchObject(
      refused("has no text field 'notes' in line 2; there is 'text'; change --text-field."),
    );
  });
});
