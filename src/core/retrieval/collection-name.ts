/** What a collection may be called: a word that is also a file's name on every platform. */

export const collectionNamePattern = "^[A-Za-z0-9_-]{1,64}$";
export const collectionNameRule = "1 to 64 letters, digits, '_' or '-'";

export const isCollectionName = (name: string): boolean =>
  new RegExp(collectionNamePattern).test(name);
