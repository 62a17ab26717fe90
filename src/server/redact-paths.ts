/** Redacts paths and credentials from messages about the node's own trouble before a client sees them. */

const absolute = /(?<![\w:/.])(?:\/|[A-Za-z]:\\)(?:[^\s'"/\\]+[/\\])+[^\s'",;)]*/g;
const relative = /(?<![\w:/.])\.{1,2}[/\\][^\s'",;)]+/g;
const credentials = /\/\/[^\s/@]+@/g;

const hidden = "(a path on the node)";

export const redactPaths = (message: string): string =>
  message.replace(credentials, "//").replace(absolute, hidden).replace(relative, hidden);
