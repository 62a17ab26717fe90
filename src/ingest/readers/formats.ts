/** The supported formats, with their file extensions and media types. */

import { extname } from "node:path";

export type Format =
  | "markdown"
  | "text"
  | "html"
  | "pdf"
  | "docx"
  | "pptx"
  | "xlsx"
  | "epub"
  | "eml"
  | "csv"
  | "tsv"
  | "jsonl"
  | "code";

const office = "application/vnd.openxmlformats-officedocument";

const documents: Readonly<
  Record<Exclude<Format, "code">, { extensions: readonly string[]; mediaType: string }>
> = {
  markdown: { extensions: [".md", ".markdown", ".mdx"], mediaType: "text/markdown" },
  text: { extensions: [".txt", ".text", ".rst", ".adoc", ".org"], mediaType: "text/plain" },
  html: { extensions: [".html", ".htm", ".xhtml"], mediaType: "text/html" },
  pdf: { extensions: [".pdf"], mediaType: "application/pdf" },
  docx: { extensions: [".docx"], mediaType: `${office}.wordprocessingml.document` },
  pptx: {
    extensions: [".pptx", ".pptm", ".ppsx"],
    mediaType: `${office}.presentationml.presentation`,
  },
  xlsx: { extensions: [".xlsx", ".xlsm"], mediaType: `${office}.spreadsheetml.sheet` },
  epub: { extensions: [".epub"], mediaType: "application/epub+zip" },
  eml: { extensions: [".eml"], mediaType: "message/rfc822" },
  csv: { extensions: [".csv"], mediaType: "text/csv" },
  tsv: { extensions: [".tsv"], mediaType: "text/tab-separated-values" },
  jsonl: { extensions: [".jsonl", ".ndjson"], mediaType: "application/jsonl" },
};

/** Programming languages by their name in a code fence, with their file extensions. */
const languages: Readonly<Record<string, string>> = {
  typescript: "ts mts cts",
  tsx: "tsx",
  javascript: "js mjs cjs jsx",
  go: "go",
  rust: "rs",
  java: "java",
  csharp: "cs",
  kotlin: "kt kts",
  scala: "scala",
  swift: "swift",
  dart: "dart",
  c: "c h",
  cpp: "cpp cc cxx hpp hh hxx",
  php: "php",
  python: "py pyi",
  ruby: "rb rake",
  lua: "lua",
  bash: "sh bash zsh",
  sql: "sql",
};

const languageByExtension = new Map<string, string>(
  Object.entries(languages).flatMap(([language, extensions]) =>
    extensions.split(" ").map((extension) => [`.${extension}`, language] as const),
  ),
);

/** Extensions of source code, with a dot, in lower case. */
export const codeExtensions: readonly string[] = [...languageByExtension.keys()];

/** The language of a file name, as written in a code fence. */
export const languageOf = (name: string): string | undefined =>
  languageByExtension.get(extensionOf(name));

const byExtension = new Map<string, Format>();
for (const extension of codeExtensions) byExtension.set(extension, "code");
for (const [format, { extensions }] of Object.entries(documents)) {
  for (const extension of extensions) if (isDocument(format)) byExtension.set(extension, format);
}

function isDocument(format: string): format is keyof typeof documents {
  return Object.hasOwn(documents, format);
}

/** Extensions of documents that are not source code, with a dot, in lower case. */
export const documentExtensions: readonly string[] = Object.values(documents).flatMap(
  ({ extensions }) => extensions,
);

/** All supported extensions, with a dot, in lower case. */
export const readableExtensions: readonly string[] = [...documentExtensions, ...codeExtensions];

export const claimedFormat = (name: string): Format | undefined =>
  byExtension.get(extensionOf(name));

export const formatMediaType = (format: Format, name: string): string =>
  format === "code" ? `text/x-${languageOf(name) ?? "code"}` : documents[format].mediaType;

/** The usual extension of a media type; empty if none is known. */
export const endingOf = (mediaType: string): string =>
  Object.values(documents).find((each) => each.mediaType === mediaType)?.extensions[0] ?? "";

/** The ending of a file's name, with its dot and in lower case; empty where there is none. */
export const extensionOf = (name: string): string => extname(name).toLowerCase();
