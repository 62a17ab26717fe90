/** What is read of documents, and how much of them is kept. */
import { Type as T } from "@sinclair/typebox";

const strict = { additionalProperties: false } as const;

export const Ingest = T.Object(
  {
    max_file_bytes: T.Integer({
      minimum: 1024,
      default: 64 * 1024 * 1024,
      description: "Largest file that is read, and most that is taken from standard input.",
    }),
    max_unpacked_bytes: T.Integer({
      minimum: 1024,
      default: 64 * 1024 * 1024,
      description: "Most bytes that the text of an Office file or an EPUB unpacks to.",
    }),
    max_unpack_ratio: T.Integer({
      minimum: 1,
      default: 100,
      description: "How many times its own size that may be; up to 256 KiB it may be any.",
    }),
    max_elements: T.Integer({
      minimum: 1,
      default: 500_000,
      description:
        "Most elements of a Word file, a presentation, an EPUB or an HTML page; each of Word's takes about 25 µs and 2 kB.",
    }),
    max_pages: T.Integer({
      minimum: 1,
      default: 5000,
      description: "Most pages of a PDF, slides of a presentation, and sheets of a workbook.",
    }),
    max_records: T.Integer({
      minimum: 1,
      default: 1_000_000,
      description: "Most rows of a CSV or TSV file or of a sheet, and most lines of a JSONL file.",
    }),
    max_text_length: T.Integer({
      minimum: 1,
      default: 64 * 1024 * 1024,
      description: "Most characters of text that come out of a file.",
    }),
    read_timeout: T.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 120,
      description: "Seconds that reading a file may take.",
    }),
    read_memory: T.Integer({
      minimum: 256,
      default: 2048,
      description: "Megabytes of memory that reading a file may take; heeded on Linux.",
    }),
  },
  { ...strict, default: {} },
);

export const Documents = T.Object(
  {
    max_file_bytes: T.Integer({
      minimum: 1024,
      default: 64 * 1024 * 1024,
      description: "Largest file that is taken over HTTP; `ingest` says what can be read of it.",
    }),
    max_bytes: T.Integer({
      minimum: 0,
      default: 10 * 1024 * 1024 * 1024,
      description:
        "Bytes of all files that were uploaded, each counted as 1,024 at least; 0: no bound.",
    }),
    max_bytes_per_key: T.Integer({
      minimum: 0,
      default: 0,
      description: "The same of each key without a bound of its own; 0: no bound.",
    }),
    max_files: T.Integer({
      minimum: 0,
      default: 100_000,
      description: "Files that were uploaded; 0: no bound.",
    }),
    max_files_per_key: T.Integer({
      minimum: 0,
      default: 0,
      description: "The same of each key; 0: no bound.",
    }),
    max_passages: T.Integer({
      minimum: 0,
      default: 1_000_000,
      description: "Passages of all files in vector stores; 0: no bound.",
    }),
    max_passages_per_key: T.Integer({
      minimum: 0,
      default: 0,
      description: "The same of each key without a bound of its own; 0: no bound.",
    }),
    max_vector_stores: T.Integer({
      minimum: 1,
      default: 1000,
      description: "Most vector stores.",
    }),
    max_queue: T.Integer({
      minimum: 1,
      default: 10_000,
      description: "Most files that wait to be taken in.",
    }),
  },
  { ...strict, default: {} },
);
