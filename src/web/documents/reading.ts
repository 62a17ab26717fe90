/** The document that is being read, and the passage of it that is marked. */
import { signal } from "@preact/signals";
import type { Point } from "../../client/wire.ts";
import { Questions, withKey } from "../client.ts";
import { type Failure, failureOf } from "../failure.ts";
import { documents } from "./collections.ts";

/** The passage of an answer that led here. */
export interface MarkedPassage {
  position: number;
  /** Its text, as the answer was given it. */
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
  /** The position of the first. */
  from: number;
  texts: readonly string[];
  hasMore: boolean;
}

export const reading = signal<Reading | undefined>(undefined);
export const passages = signal<PassagesShown | undefined>(undefined);
export const readingFailure = signal<Failure | undefined>(undefined);

export const pageSize = 20;

/** The first position of the page that a passage is on. */
export const pageOf = (position: number): number => Math.floor(position / pageSize) * pageSize;

export function read(document: Reading): void {
  reading.value = document;
  passages.value = undefined;
  readingFailure.value = undefined;
  void loadPassages(pageOf(document.marked?.position ?? 0));
}

export function closeReading(): void {
  reading.value = undefined;
}

const questions = new Questions();

export async function loadPassages(from: number): Promise<void> {
  if (reading.value === undefined) return;
  const { store, file } = reading.value;
  await questions.ask(
    () => withKey(() => documents.passages(store, file, { from, limit: pageSize })),
    ({ data, has_more: hasMore }) => {
      passages.value = { from, texts: data.map(({ text }) => text), hasMore };
      readingFailure.value = undefined;
    },
    (error) => {
      readingFailure.value = failureOf(error);
    },
  );
}

/** The document that a passage is of; undefined where it is not known where that is. */
export function readingOf({ source, metadata }: Point): Reading | undefined {
  const { vector_store_id: store, file_id: file, document, heading, position } = metadata ?? {};
  if (typeof store !== "string" || typeof file !== "string") return undefined;
  const marked = { position: position ?? 0, source, heading: heading ?? null };
  return { store, file, name: document ?? "A document without a name", marked };
}

/** Where among the texts of a page the marked passage is; undefined where it is on another page, -1 where it is gone. */
export function markedAt(
  { from, texts }: PassagesShown,
  marked: MarkedPassage | undefined,
): number | undefined {
  if (marked === undefined || pageOf(marked.position) !== from) return undefined;
  const at = marked.position - from;
  // A collection that others filled may leave out positions.
  return isSamePassage(texts[at] ?? "", marked)
    ? at
    : texts.findIndex((text) => isSamePassage(text, marked));
}

/** Whether a text is still the passage that the answer was given. */
export function isSamePassage(text: string, { source }: MarkedPassage): boolean {
  const words = (from: string): string => from.replace(/\s+/g, " ").trim();
  const [now, given] = [words(text), words(source)];
  // A passage may have been given with its neighbours, or with its headings in front.
  return now !== "" && given !== "" && (given.includes(now) || now.includes(given));
}
