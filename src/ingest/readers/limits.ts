/** Limits of file readers. The error for a file names the limit that it exceeds. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";

export interface ReadLimits {
  /** Bytes of a file. */
  max_file_bytes: number;
  /** Bytes that the parts of an Office file or an EPUB unpack to. */
  max_unpacked_bytes: number;
  /** How many times its own size such a file may unpack to. */
  max_unpack_ratio: number;
  /** Elements of a Word file, a presentation, an EPUB or an HTML page. */
  max_elements: number;
  /** Pages of a PDF, slides of a presentation, sheets of a workbook. */
  max_pages: number;
  /** Rows of a table or a sheet, or lines of a JSONL file. */
  max_records: number;
  /** Characters of text that come out of a file. */
  max_text_length: number;
}

export const defaultLimits: ReadLimits = {
  max_file_bytes: 64 << 20,
  max_unpacked_bytes: 64 << 20,
  max_unpack_ratio: 100,
  max_elements: 500_000,
  max_pages: 5000,
  max_records: 1_000_000,
  max_text_length: 64 << 20,
};

const words: Readonly<Record<keyof ReadLimits, string>> = {
  max_file_bytes: "bytes",
  max_unpacked_bytes: "bytes once it is unpacked",
  max_unpack_ratio: "times its size once it is unpacked, which no document of a person does",
  max_elements: "elements",
  max_pages: "pages, slides or sheets",
  max_records: "records",
  max_text_length: "characters of text",
};

export const beyond = (limit: keyof ReadLimits, limits: ReadLimits): NodeError =>
  unreadable(`has more than ${limits[limit]} ${words[limit]}; divide it, or raise ingest.${limit}`);

/** Counts text while it is produced: a small file may repeat its content very often. */
export class TextBudget {
  readonly #limits: ReadLimits;
  #length = 0;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  add(text: string): string {
    this.#length += text.length;
    if (this.#length > this.#limits.max_text_length) throw beyond("max_text_length", this.#limits);
    return text;
  }
}

/** For a file that cannot be converted to text; the message continues after the file's name. */
export const unreadable = (why: string, cause?: unknown): NodeError =>
  new NodeError("invalid_request", `${why}.`, given({ cause }));

/** What a library's error means for the file; an error that says it itself stays. */
export const asUnreadable = (cause: unknown, why: string): NodeError =>
  cause instanceof NodeError ? cause : unreadable(why, cause);

/** For a format that is not supported: another copy of the file would not help. */
export const unsupported = (why: string): NodeError =>
  new NodeError("unsupported_media_type", `${why}.`);

/** Whether the file itself is the cause. */
export const isUnreadable = (error: unknown): error is NodeError =>
  error instanceof NodeError &&
  (error.kind === "invalid_request" || error.kind === "unsupported_media_type");
