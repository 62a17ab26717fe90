/** Colour for people: on a terminal that shows it, and never where it is not wanted. The text is made printable. */
import { styleText } from "node:util";
import { printable } from "./printable.ts";

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
