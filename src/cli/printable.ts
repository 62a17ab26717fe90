/**
 * Text from elsewhere, safe to show on a terminal: a model, a server or a file's name may hold what
 * moves the cursor, retitles the window or hides what follows. All that a command prints goes
 * through here, in a pipe too, since most pipes end in a terminal.
 */

/** Line feeds and tabs stay; any other control character, of C1 as well, is shown as U+FFFD. */
export const printable = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(/[^\P{Cc}\n\t]/gu, "\uFFFD");

/** The same for a name within a line: it ends no line, either. */
export const printableName = (name: string): string => name.replace(/\p{Cc}/gu, "\uFFFD");

/** A value as JSON in which every control character is escaped; `JSON.stringify` leaves DEL and C1 as they are. */
export const printableJson = (value: unknown, indent?: number): string =>
  escapedJson(JSON.stringify(value, null, indent));

/** JSON that means the same, with DEL and C1 escaped. */
export const escapedJson = (json: string): string =>
  json.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
