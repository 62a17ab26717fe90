/** What a caller wrote, inside a sentence for it: no longer than one can read, whatever it was. */

const longest = 64;

export const shortened = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest)}…` : text;

export const quoted = (text: string): string => `'${shortened(text)}'`;
