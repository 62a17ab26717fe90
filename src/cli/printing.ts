/**
 * Makes text safe to print on a terminal: output of a model, a server or a file name may contain
 * control characters that move the cursor, retitle the window or hide text. Everything that a
 * command prints goes through here, in a pipe too, since most pipes end in a terminal.
 */
import { styleText } from "node:util";
import type { Command } from "commander";
import { CommandError, type Shell } from "./shell.ts";

/** Line feeds and tabs stay; any other control character, of C1 as well, is shown as U+FFFD. */
export const printable = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(/[^\P{Cc}\n\t]/gu, "\uFFFD");

/** The same for a name within a line: without line feeds and tabs too. */
export const printableName = (name: string): string => name.replace(/\p{Cc}/gu, "\uFFFD");

/** JSON with all control characters escaped; `JSON.stringify` does not escape DEL and C1. */
export const printableJson = (value: unknown, indent?: number): string =>
  escapedJson(JSON.stringify(value, null, indent));

/** The same JSON, with DEL and C1 escaped. */
export const escapedJson = (json: string): string =>
  json.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);

export type Style = ReturnType<typeof createStyle>;

/** NO_COLOR wins over all; FORCE_COLOR gives colour without a terminal; a terminal has it unless it is dumb. */
export function wantsColour(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (isSet(env.NO_COLOR)) return false;
  if (isSet(env.FORCE_COLOR)) return env.FORCE_COLOR !== "0";
  return isTerminal && env.TERM !== "dumb";
}

const isSet = (value: string | undefined): value is string => value !== undefined && value !== "";

/** Colours for a terminal that supports them. The text is made printable. */
export function createStyle(hasColour: boolean) {
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
  const padded = (cell: string, column: number): string => {
    const isNumber = typeof first[names[column] ?? ""] === "number";
    return isNumber ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  };
  return cells.map((row) => `${row.map(padded).join("  ").trimEnd()}\n`).join("");
}

/** Whether --json is given; then prints the result so. */
export function printedJson(shell: Pick<Shell, "print">, command: Command, result: unknown) {
  const isJson = command.opts().json === true;
  if (isJson) shell.print(`${printableJson(result, 2)}\n`);
  return isJson;
}

/** Confirms a removal: by --yes, or by asking. `action` follows "This would": `remove x.gguf`. */
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
