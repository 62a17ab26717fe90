/** What large bodies are made of: as much as a node with default limits takes. */
import { mostKeys, mostValues } from "../../../src/server/json-size.ts";

/** The node's default for `limits.max_body_bytes`, less the rest of the body. */
export const bytes = 16 * 1024 * 1024 - 1024;
export const mostMessages = 2048;
export const share = Math.floor(bytes / mostMessages) - 64;
/** Of these a body has a few beside what it is filled with. */
export const [values, keys] = [mostValues - 100, mostKeys - 100];

export const times = (count: number, item: string | ((at: number) => string)): string =>
  Array.from({ length: count }, (_, at) => (typeof item === "string" ? item : item(at))).join();
/** As many as fit. */
export const filled = (item: string): string => times(Math.floor(bytes / (item.length + 1)), item);
export const upTo = (most: number, item: string): string =>
  times(Math.min(most, Math.floor(bytes / (item.length + 1))), item);
export const members = (count: number, value = "1"): string =>
  times(count, (at) => `"${String(at).padStart(7, "0")}":${value}`);
export const named = (count: number): string => times(count, (at) => `"field${at}":1`);
export const text = (length: number): string => "word ".repeat(Math.floor(length / 5));
