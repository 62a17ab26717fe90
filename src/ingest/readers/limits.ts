/** Limits of file readers, as `[ingest]` sets them. The error for a file names the limit that it exceeds. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";

export const defaultLimits = {
  max_file_bytes: 64 << 20,
  max_unpacked_bytes: 64 << 20,
  max_unpack_ratio: 100,
  max_elements: 500_000,
  max_pages: 5000,
  max_records: 1_000_000,
  max_text_length: 64 << 20,
};

export type ReadLimits = Record<keyof typeof defaultLimits, number>;

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

/** Counts text while it is produced, and returns it: a small file may repeat its content very often. */
export function textBudget(limits: ReadLimits): (text: string) => string {
  let length = 0;
  return (text) => {
    length += text.length;
    if (length > limits.max_text_length) throw beyond("max_text_length", limits);
    return text;
  };
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
