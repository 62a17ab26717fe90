/** The supported formats, with their file extensions and media types. */
import { extname } from "node:path";

const office = "application/vnd.openxmlformats-officedocument";

const documents = [
  { format: "markdown", extensions: [".md", ".markdown", ".mdx"], mediaType: "text/markdown" },
  {
    format: "text",
    extensions: [".txt", ".text", ".rst", ".adoc", ".org"],
    mediaType: "text/plain",
  },
  { format: "html", extensions: [".html", ".htm", ".xhtml"], mediaType: "text/html" },
  { format: "pdf", extensions: [".pdf"], mediaType: "application/pdf" },
  { format: "docx", extensions: [".docx"], mediaType: `${office}.wordprocessingml.document` },
  {
    format: "pptx",
    extensions: [".pptx", ".pptm", ".ppsx"],
    mediaType: `${office}.presentationml.presentation`,
  },
  { format: "xlsx", extensions: [".xlsx", ".xlsm"], mediaType: `${office}.spreadsheetml.sheet` },
  { format: "epub", extensions: [".epub"], mediaType: "application/epub+zip" },
  { format: "eml", extensions: [".eml"], mediaType: "message/rfc822" },
  { format: "csv", extensions: [".csv"], mediaType: "text/csv" },
  { format: "tsv", extensions: [".tsv"], mediaType: "text/tab-separated-values" },
  { format: "jsonl", extensions: [".jsonl", ".ndjson"], mediaType: "application/jsonl" },
] as const;

export type Format = (typeof documents)[number]["format"] | "code";

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

export const codeExtensions: readonly string[] = [...languageByExtension.keys()];

/** The language of a file name, as written in a code fence. */
export const languageOf = (name: string): string | undefined =>
  languageByExtension.get(extensionOf(name));

const byExtension = new Map<string, Format>(
  documents.flatMap(({ format, extensions }) =>
    [...extensions].map((extension) => [extension, format] as const),
  ),
);

/** Extensions of documents that are not source code, with a dot, in lower case. */
export const documentExtensions: readonly string[] = [...byExtension.keys()];

export const readableExtensions: readonly string[] = [...documentExtensions, ...codeExtensions];

export const claimedFormat = (name: string): Format | undefined =>
  byExtension.get(extensionOf(name)) ?? (languageOf(name) === undefined ? undefined : "code");

export const formatMediaType = (format: Format, name: string): string =>
  documents.find((each) => each.format === format)?.mediaType ??
  `text/x-${languageOf(name) ?? "code"}`;

/** The usual extension of a media type; empty if none is known. */
export const endingOf = (mediaType: string): string =>
  documents.find((each) => each.mediaType === mediaType)?.extensions[0] ?? "";

/** The ending of a file's name, with its dot and in lower case; empty where there is none. */
export const extensionOf = (name: string): string => extname(name).toLowerCase();
