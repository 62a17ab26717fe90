/** A record of data as text: which of its fields is the text, and which the heading above it. */
import { heading } from "./markdown.ts";
import { unreadable } from "./unreadable.ts";

const usualTextFields = [
  "text",
  "content",
  "body",
  "passage",
  "source",
  "document",
  "description",
  "answer",
];
const usualHeadingFields = ["title", "heading", "question"];

export interface FieldChoice {
  /** Name that was asked for. */
  wanted: string | undefined;
  /** What a field is called in this format. */
  called: string;
  /** Where in the file the fields are, as " in line 3"; nothing for all of it. */
  where?: string;
}

/** The name among `fields` that holds the text. */
export function textFieldOf(
  fields: readonly string[],
  { wanted, called, where = "" }: FieldChoice,
): string {
  const field = wanted === undefined ? find(fields, usualTextFields) : findExactly(fields, wanted);
  if (field !== undefined) return field;
  const there =
    fields.length === 0
      ? `there is no ${called} at all`
      : `there is ${fields.map((name) => `'${name}'`).join(", ")}`;
  throw unreadable(
    wanted === undefined
      ? `has no ${called} with a usual name for text${where}; ${there}; choose with --text-field NAME`
      : `has no ${called} '${wanted}'${where}; ${there}; change --text-field`,
  );
}

/** The record's text under its heading; nothing where the text is blank. */
export function recordText(fields: ReadonlyMap<string, string>, textField: string): string[] {
  const text = fields.get(textField)?.trim() ?? "";
  if (text === "") return [];
  const others = [...fields.keys()].filter((name) => name !== textField);
  const headingField = find(others, usualHeadingFields);
  const title = headingField === undefined ? "" : (fields.get(headingField)?.trim() ?? "");
  return [title === "" ? text : `${heading(1, title)}\n\n${text}`];
}

/** The field that has the earliest of the names, whatever its case. */
function find(fields: readonly string[], names: readonly string[]): string | undefined {
  const lowered = fields.map((field) => field.toLowerCase());
  const name = names.find((candidate) => lowered.includes(candidate));
  return name === undefined ? undefined : fields[lowered.indexOf(name)];
}

const findExactly = (fields: readonly string[], wanted: string): string | undefined =>
  fields.includes(wanted) ? wanted : find(fields, [wanted.toLowerCase()]);
