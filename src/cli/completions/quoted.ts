/** Text in single quotes, as shells read it. */

/** For bash and zsh, where a quote ends the text and begins it anew. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** For fish, where a backslash does. */
export const quotedForFish = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
