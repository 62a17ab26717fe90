/** What large bodies are made of: as much as a node with default limits takes. */
import { mostKeys, mostValues } from "../../../src/core/json-size.ts";

/** The node's default for `limits.max_body_bytes`, less the rest of the body. */
export const bytes = 16 * 1024 * 1024 - 1024;
export const mostMessages = 2048;
export const share = Math.floor(bytes / mostMessages) - 64;
/** Of these a body has a few beside what it is filled with. */
export const [values, keys] = [mostValues - 100, mostKeys - 100];

/** An ASCII text so often: as bytes that takes a tenth of the time of a string's own `repeat`. */
export const repeat = (count: number, item: string): string =>
  Buffer.alloc(item.length * count, item, "latin1").toString("latin1");
export const times = (count: number, item: string | ((at: number) => string)): string =>
  typeof item === "string"
    ? repeat(count, `${item},`).slice(0, -1)
    : Array.from({ length: count }, (_, at) => item(at)).join();
/** As many as fit. */
export const filled = (item: string): string => times(Math.floor(bytes / (item.length + 1)), item);
export const upTo = (most: number, item: string): string =>
  times(Math.min(most, Math.floor(bytes / (item.length + 1))), item);
export const members = (count: number, value = "1"): string =>
  times(count, (at) => `"${String(at).padStart(7, "0")}":${value}`);
export const named = (count: number): string => times(count, (at) => `"field${at}":1`);
export const text = (length: number): string => repeat(Math.floor(length / 5), "word ");
