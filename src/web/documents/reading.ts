/** State of the reader dialog: the open document, its passages, and the highlighted one. */
import { signal } from "@preact/signals";
import type { Point } from "../../client/wire.ts";
import { api, Loaded, withKey } from "../client.ts";

/** The passage of an answer that led here. */
export interface MarkedPassage {
  position: number;
  /** Its text as it came with the answer. */
  source: string;
  heading: string | null;
}

export interface Reading {
  store: string;
  file: string;
  name: string;
  marked?: MarkedPassage;
}

export interface PassagesShown {
  from: number;
  texts: readonly string[];
  hasMore: boolean;
}

export const reading = signal<Reading | undefined>(undefined);
export const passages = new Loaded<PassagesShown>();

export const pageSize = 20;

/** The first position of the page that a passage is on. */
export const pageOf = (position: number): number => Math.floor(position / pageSize) * pageSize;

export function read(document: Reading): void {
  reading.value = document;
  passages.set(undefined);
  void loadPassages(document, pageOf(document.marked?.position ?? 0));
}

export function closeReading(): void {
  reading.value = undefined;
}

export const loadPassages = ({ store, file }: Reading, from: number): Promise<void> =>
  passages.load(async () => {
    const page = await withKey(() => api.passages(store, file, from, pageSize));
    return { from, texts: page.data.map(({ text }) => text), hasMore: page.has_more };
  });

/** The document of a passage; undefined if its location is not known. */
export function readingOf({ source, metadata }: Point): Reading | undefined {
  const { vector_store_id: store, file_id: file, document, heading, position } = metadata ?? {};
  if (typeof store !== "string" || typeof file !== "string") return undefined;
  const marked = { position: position ?? 0, source, heading: heading ?? null };
  return { store, file, name: document ?? "A document without a name", marked };
}

/** Index of the marked passage on a page; undefined if on another page, -1 if it is gone. */
export function markedAt(
  { from, texts }: PassagesShown,
  marked: MarkedPassage | undefined,
): number | undefined {
  if (marked === undefined || pageOf(marked.position) !== from) return undefined;
  const at = marked.position - from;
  // A collection that another program filled may have gaps in its positions.
  return isSamePassage(texts[at] ?? "", marked)
    ? at
    : texts.findIndex((text) => isSamePassage(text, marked));
}

/** Whether a text is still the passage that came with the answer. */
export function isSamePassage(text: string, { source }: MarkedPassage): boolean {
  const words = (from: string): string => from.replace(/\s+/g, " ").trim();
  const [now, given] = [words(text), words(source)];
  // The answer's passage may include its neighbours, or headings before it.
  return now !== "" && given !== "" && (given.includes(now) || now.includes(given));
}
