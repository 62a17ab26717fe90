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
    fields.length === 0 ? `there is no ${called} at all` : `there is ${namesOf(fields)}`;
  throw unreadable(
    wanted === undefined
      ? `has no ${called} with a usual name for text${where}; ${there}; choose with --text-field NAME`
      : `has no ${called} '${wanted}'${where}; ${there}; change --text-field`,
  );
}

/** The record's text under its heading; nothing where the text is blank. */
export function recordText(fields: ReadonlyMap<string, string>, textField: string): string[] {
  const headingField = headingFieldOf([...fields.keys()], textField);
  const title = headingField === undefined ? "" : (fields.get(headingField) ?? "");
  return textUnder(title, fields.get(textField) ?? "");
}

/** The name among `fields` that holds what stands above the text; undefined where none does. */
export const headingFieldOf = (fields: readonly string[], textField: string): string | undefined =>
  find(
    fields.filter((name) => name !== textField),
    usualHeadingFields,
  );

/** A text under its title, where it has one; nothing where the text is blank. */
export function textUnder(title: string, text: string): string[] {
  if (text.trim() === "") return [];
  return [title.trim() === "" ? text.trim() : `${heading(1, title.trim())}\n\n${text.trim()}`];
}

/** The names for a message, shortened: a file may have very many of them, and very long ones. */
function namesOf(fields: readonly string[]): string {
  const named = fields
    .slice(0, mostNamed)
    .map((name) => `'${name.length > longestName ? `${name.slice(0, longestName)}…` : name}'`);
  const more = fields.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const mostNamed = 20;
const longestName = 50;

/** The field that has the earliest of the names, whatever its case. */
function find(fields: readonly string[], names: readonly string[]): string | undefined {
  const lowered = fields.map((field) => field.toLowerCase());
  const name = names.find((candidate) => lowered.includes(candidate));
  return name === undefined ? undefined : fields[lowered.indexOf(name)];
}

const findExactly = (fields: readonly string[], wanted: string): string | undefined =>
  fields.includes(wanted) ? wanted : find(fields, [wanted.toLowerCase()]);
