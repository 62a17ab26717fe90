/** Quotes a caller's text in a message, shortened to a readable length. */

const longest = 64;

export const shortened = (text: string): string =>
  text.length > longest ? `${text.slice(0, longest)}…` : text;

export const quoted = (text: string): string => `'${shortened(text)}'`;
