/** A page's table of an operation's fields, and the walk through its rows: each is as its class says. */
import { describe, expect, test } from "bun:test";

interface FieldRow {
  field: string;
  /** Its class. */
  name: string;
  /** JSON. */
  example: string;
}

export interface FieldsTable {
  rows: readonly FieldRow[];
  /** Lines that are no row of such a table. */
  broken: readonly string[];
  ofClass(wanted: string): FieldRow[];
}

const tableRow = /^\| `(?<field>[^`]+)` \| `(?<name>\w+)` \| `(?<example>[^`]+)` \| [^|]+ \|$/;

export function fieldsTable(page: string): FieldsTable {
  const lines = page.split("\n").filter((line) => line.startsWith("| `"));
  const rows = lines.map((line) => {
    const { field = "", name = "", example = "" } = tableRow.exec(line)?.groups ?? {};
    return { field, name, example };
  });
  return {
    rows,
    broken: lines.filter((line) => !tableRow.test(line)),
    ofClass: (wanted) => rows.filter(({ name }) => name === wanted),
  };
}

/** A request whose field has the value, the same without the field, and the field's name on the wire. */
export interface FieldRequests {
  with: object;
  without: object;
  as: string;
}

export interface FieldOutcome {
  ignored: string | null;
  seen: { status: number; asked: unknown; text: string };
}

interface Walk {
  /** What the table is of. */
  called: string;
  table: FieldsTable;
  requestsWith: (field: string, value: unknown) => FieldRequests;
  /** What comes of a request: the status, what the engine was asked, and the answer but for ids and times. */
  outcome: (body: object) => Promise<FieldOutcome>;
  /** Expects that a request is refused for the field. */
  expectRefusal: (body: object, as: string) => Promise<void>;
  /** Whether an ignored field's value may come back in the answer. */
  repeatsIgnored?: boolean;
}

const classes = ["honoured", "accepted", "ignored", "refused"];

export function walkFields(walk: Walk): void {
  const { called, table, requestsWith, outcome, expectRefusal, repeatsIgnored = false } = walk;
  const both = async ({ field, example }: FieldRow) => {
    const requests = requestsWith(field, JSON.parse(example));
    const { ignored, seen } = await outcome(requests.with);
    expect(seen).toMatchObject({ status: 200 });
    return { as: requests.as, ignored, seen, without: (await outcome(requests.without)).seen };
  };
  describe(`the handbook's table of ${called}`, () => {
    test("has a class and an example in every row", () => {
      expect(table.broken).toEqual([]);
      expect(table.rows.filter(({ name }) => !classes.includes(name))).toEqual([]);
      for (const name of classes) expect(table.ofClass(name)).not.toEqual([]);
    });

    test.each(table.ofClass("honoured"))("honours $field: $example", async (row) => {
      const { ignored, seen, without } = await both(row);
      expect(ignored).toBeNull();
      expect(seen).not.toEqual(without);
    });

    test.each(table.ofClass("accepted"))("accepts $field: $example", async (row) => {
      const { ignored, seen, without } = await both(row);
      expect(ignored).toBeNull();
      expect(seen).toEqual(without);
    });

    test.each(table.ofClass("ignored"))("names $field as ignored: $example", async (row) => {
      const { as, ignored, seen, without } = await both(row);
      expect(ignored).toBe(as);
      if (repeatsIgnored) expect(seen.asked).toEqual(without.asked);
      else expect(seen).toEqual(without);
    });

    test.each(table.ofClass("refused"))("refuses $field: $example", async ({ field, example }) => {
      const requests = requestsWith(field, JSON.parse(example));
      await expectRefusal(requests.with, requests.as);
    });
  });
}
