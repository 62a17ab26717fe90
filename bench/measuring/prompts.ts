/** Prompts that share nothing but the template, so that nobody profits from what was asked before. */

let asked = 0;

/** Short prompts whose answers go on for long. */
export const stories = (count: number): string[] =>
  Array.from({ length: count }, () => `Number ${++asked} ${asked * 7919}: tell a long story.`);

/** Texts of so many words each. */
export const texts = (count: number, length: number): string[] =>
  Array.from({ length: count }, () => `${++asked} ${words(length - 1, asked)}`);

const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, at) => `word${((seed * 31 + at * 17) % 997) + 1}`).join(" ");
