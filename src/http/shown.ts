/** What a message about the node's own trouble may show to a client: no paths and no credentials. */

const path = /(?<![\w:/.])(?:\/|[A-Za-z]:\\)(?:[^\s'"/\\]+[/\\])+[^\s'",;)]*/g;
const credentials = /\/\/[^\s/@]+@/g;

export const withoutPlaces = (message: string): string =>
  message.replace(credentials, "//").replace(path, "(a path on the node)");
