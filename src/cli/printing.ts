/**
 * Text that is safe to show on a terminal: a model, a server or a file's name may hold what
 * moves the cursor, retitles the window or hides what follows. All that a command prints goes
 * through here, in a pipe too, since most pipes end in a terminal.
 */
import { styleText } from "node:util";
import type { Command } from "commander";
import { CommandError, type Shell } from "./shell.ts";

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

/** Colour for people, on a terminal that shows it. The text is made printable. */
export interface Style {
  good(text: string): string;
  bad(text: string): string;
  doubtful(text: string): string;
  /** What matters less than what stands beside it. */
  faint(text: string): string;
  strong(text: string): string;
}

/**
 * NO_COLOR, set to anything, wins over all; FORCE_COLOR, set to anything but 0, gives colour where
 * there is no terminal; else a terminal has colour unless it calls itself dumb.
 */
export function wantsColour(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (isSet(env.NO_COLOR)) return false;
  if (isSet(env.FORCE_COLOR)) return env.FORCE_COLOR !== "0";
  return isTerminal && env.TERM !== "dumb";
}

const isSet = (value: string | undefined): value is string => value !== undefined && value !== "";

export function createStyle(hasColour: boolean): Style {
  const styled =
    (format: Parameters<typeof styleText>[0]) =>
    (text: string): string =>
      hasColour ? styleText(format, printable(text), { validateStream: false }) : printable(text);
  return {
    good: styled("green"),
    bad: styled("red"),
    doubtful: styled("yellow"),
    faint: styled("dim"),
    strong: styled("bold"),
  };
}

/** Rows as aligned columns. */
export function toTable(rows: readonly Readonly<Record<string, string | number>>[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const names = Object.keys(first);
  const cells = [
    names.map((name) => name.toUpperCase()),
    ...rows.map((row) => names.map((name) => printableName(String(row[name] ?? "")))),
  ];
  const widths = names.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = names.map((name) => typeof first[name] === "number");
  const lines = cells.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return isNumber[column] === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

/** Whether something is to be removed for good: --yes says so, else a person is asked. `action` follows "This would": `remove the model x.gguf`. */
export async function isConfirmed(
  shell: Pick<Shell, "input" | "print" | "say">,
  command: Command,
  action: string,
): Promise<boolean> {
  if (command.opts().yes === true) return true;
  if (!shell.input.isTerminal) {
    throw new CommandError(`This would ${action}. Nobody is here to ask; say --yes.`);
  }
  shell.say(`${action.charAt(0).toUpperCase()}${action.slice(1)}? [y/N] `);
  const isMeant = /^y(es)?$/i.test((await shell.input.line()).trim());
  if (!isMeant) shell.print("Nothing was removed.\n");
  return isMeant;
}
