/** What a file is called in its collection, so that two uploads of one name are two documents. */

const uploaded = /^(file-[0-9a-f]{24})\/(.*)$/s;

export const newId = (prefix: string): string =>
  `${prefix}${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;

/** The ending is the file's, since readers are chosen by it. */
export const documentOf = (file: string, filename: string): string => `${file}/${filename}`;

/** As people know the document: a file's own name. */
export const shownName = (document: string): string => uploaded.exec(document)?.[2] ?? document;

/** Whether it is the id of a file that was uploaded. */
export const isFileId = (name: string): boolean => /^file-[0-9a-f]{24}$/.test(name);

/** What the ids of documents begin with that did not come over HTTP. */
const adopted = "file-doc-";

/** The id of the file that a document of a collection is; one of the command line has one too. */
export function fileIdOf(collection: string, document: string): string {
  const own = uploaded.exec(document)?.[1];
  if (own !== undefined) return own;
  const digest = new Bun.CryptoHasher("sha256").update(`${collection}\n${document}`).digest("hex");
  return `${adopted}${digest.slice(0, 24)}`;
}

/** Whether it is a document that did not come over HTTP. */
export const isAdopted = (file: string): boolean => file.startsWith(adopted);
