import { describe, expect, test } from "bun:test";
import { type ReadText, readDocument } from "../../../../../src/ingest/readers/read.ts";
import { rejectionOf } from "../../../../support/rejection.ts";

const read = (text: string, name = "a.csv", textField?: string): Promise<ReadText> =>
  readDocument(name, new TextEncoder().encode(text), textField === undefined ? {} : { textField });

describe("a table", () => {
  test("gives a text for each row, from its text column", async () => {
    expect(await read("id,text\n1,Llamas hum.\n2,Alpacas spit.\n")).toEqual([
      "Llamas hum.",
      "Alpacas spit.",
    ]);
  });

  test("takes the first usual column, not the first in the file, whatever its case", async () => {
    expect(await read("Description,BODY\nshort,long\n")).toEqual(["long"]);
  });

  test("puts the title above the text as a heading of one line", async () => {
    expect(await read('answer,Question\nThey hum.,"Do llamas\nhum?"\nNo.,\n')).toEqual([
      "# Do llamas hum?\n\nThey hum.",
      "No.",
    ]);
  });

  test("does not take a column without a name for a title", async () => {
    expect(await read(",text\n0,Llamas hum.\n")).toEqual(["Llamas hum."]);
  });

  test("takes the column that is asked for, also as the title's own", async () => {
    const table = "text,Title,notes\na,b,c\n";
    expect(
      await Promise.all([read(table, "a.csv", "notes"), read(table, "a.csv", "title")]),
    ).toEqual([["# b\n\nc"], ["b"]]);
  });

  test("prefers the exact name of two that differ in case", async () => {
    expect(await read("Notes,notes\na,b\n", "a.csv", "notes")).toEqual(["b"]);
  });

  test("keeps newlines, commas and quotation marks within quotes", async () => {
    expect(await read('\ufefftext,id\r\n"one,\r\n""two""\n\nthree",1\r\n')).toEqual([
      'one,\r\n"two"\n\nthree',
    ]);
  });

  test("skips rows without text and takes rows that are too short or too long", async () => {
    expect(await read("id,text,tag\n1,,x\n\n2\n3,  \n4,here,x,y,z\n")).toEqual(["here"]);
  });

  test.each([
    ["semicolons", "a.csv", "id;text\n1;Llamas, all of them\n"],
    ["tabs in a CSV", "a.csv", "id\ttext\n1\tLlamas, all of them\n"],
    ["tabs", "a.tsv", "id\ttext\n1\tLlamas, all of them\n"],
    ["commas behind a quoted semicolon", "a.csv", '"a;b;c",text\n1,"Llamas, all of them"\n'],
  ])("may be separated by %s", async (_, name, table) => {
    expect(await read(table, name)).toEqual(["Llamas, all of them"]);
  });

  test("may have quotation marks in the middle of a cell", async () => {
    expect(await read('id\ttext\n1\tthe 5" llama\n', "a.tsv")).toEqual(['the 5" llama']);
  });

  test("may begin with empty lines", async () => {
    expect(await read("\n\r\nid;text\n1;Llamas hum.\n")).toEqual(["Llamas hum."]);
  });

  test("with nothing in it gives no text", async () => {
    expect(await Promise.all([read(""), read("id,text\n")])).toEqual([[], []]);
  });
});

describe("a table is refused", () => {
  test("with its columns, if none has a usual name", async () => {
    expect(await rejectionOf(read("id,name\n1,Tina\n"))).toMatchObject({
      kind: "invalid_request",
      message:
        "has no column with a usual name for text; there is 'id', 'name'; choose with --text-field NAME.",
    });
  });

  test("with its columns, if it has not the one that is asked for", async () => {
    expect(await rejectionOf(read("id,text\n1,Tina\n", "a.csv", "notes"))).toMatchObject({
      kind: "invalid_request",
      message: "has no column 'notes'; there is 'id', 'text'; change --text-field.",
    });
  });

  test("if a quotation mark is never closed", async () => {
    expect(await rejectionOf(read('id,text\n1,"Llamas\n2,hum\n'))).toMatchObject({
      kind: "invalid_request",
      message:
        "is not a table of comma- or tab-separated values: a quotation mark is never closed.",
    });
  });
});

const readLines = (text: string, textField?: string): Promise<ReadText> =>
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
    expect(await readLines(lines.join("\n"))).toEqual([
      "Llamas hum.",
      "# Spit\n\nline one\n\nline two",
      "# Why?\n\nBecause.",
    ]);
  });

  test("has no title from a field without a name", async () => {
    expect(await readLines('{"": "17", "text": "Llamas hum."}')).toEqual(["Llamas hum."]);
  });

  test("may be a string itself", async () => {
    expect(await readLines('"Llamas hum."\n" "\n"Alpacas spit."')).toEqual([
      "Llamas hum.",
      "Alpacas spit.",
    ]);
  });

  test("gives nothing where its text is blank or null", async () => {
    expect(await readLines('{"text": " "}\n{"text": null}\n')).toEqual([]);
  });

  test("has its text in a field that holds text, not in one of another kind", async () => {
    expect(await readLines('{"text": 7, "content": {"a": 1}, "body": "Llamas hum."}')).toEqual([
      "Llamas hum.",
    ]);
  });

  test("gives the field that is asked for", async () => {
    expect(await readLines('{"text": "not this", "notes": "Llamas hum."}', "Notes")).toEqual([
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
    expect(await rejectionOf(readLines(lines))).toMatchObject(refused(message));
  });

  test("without the field that is asked for", async () => {
    expect(await rejectionOf(readLines('{"notes": "a"}\n{"text": "b"}', "notes"))).toMatchObject(
      refused("has no text field 'notes' in line 2; there is 'text'; change --text-field."),
    );
  });
});
