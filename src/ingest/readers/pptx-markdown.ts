/** Slides as Markdown: the title as a heading, bullets as lists, tables, and the speaker's notes. */
import { escapeMarkers, heading, oneLine, pipeTable } from "./markdown.ts";
import type { Slide, SlideParagraph, SlideText } from "./pptx-slide.ts";

/** A slide with what other parts hold of it. */
export interface WholeSlide extends Slide {
  /** Where it stands, from 1. */
  number: number;
  /** Diagrams by their relationship. */
  diagrams: ReadonlyMap<string, Slide>;
  notes: Slide | undefined;
}

const titles = ["title", "ctrTitle"];
/** What repeats on every slide: date, footer, header, number; and the picture of the slide above its notes. */
const running = ["dt", "ftr", "hdr", "sldNum", "sldImg"];
/** Places whose paragraphs have bullets unless they say otherwise. */
const lists = ["body", "obj", "half", "quarter"];

export function slideMarkdown({ number, shapes, diagrams, notes }: WholeSlide): string {
  const texts = shapes.filter((shape) => "paragraphs" in shape);
  const title = texts.find(({ placeholder = "" }) => titles.includes(placeholder));
  const name = oneLine(title?.paragraphs.map(({ text }) => text).join(" ") ?? "");
  const blocks = [heading(1, name === "" ? `Slide ${number}` : name)];
  for (const shape of shapes) {
    if ("rows" in shape) blocks.push(tableOf(shape.rows));
    else if ("relationship" in shape) {
      const diagram = diagrams.get(shape.relationship)?.shapes ?? [];
      blocks.push(listOf(diagram.flatMap((part) => ("paragraphs" in part ? part.paragraphs : []))));
    } else if (shape !== title) blocks.push(textOf(shape));
  }
  const spoken = (notes?.shapes ?? [])
    .filter((each) => "paragraphs" in each)
    .filter(({ placeholder }) => placeholder !== undefined)
    .map((each) => textOf(each, false))
    .filter((block) => block !== "");
  if (spoken.length > 0) blocks.push(heading(2, "Notes"), spoken.join("\n\n"));
  return blocks.filter((block) => block !== "").join("\n\n");
}

function textOf({ placeholder = "", paragraphs }: SlideText, isSlide = true): string {
  if (running.includes(placeholder)) return "";
  const bullets = isSlide && lists.includes(placeholder);
  const isList = ({ marker }: SlideParagraph): boolean =>
    marker === undefined ? bullets && paragraphs.length > 1 : marker !== "none";
  const blocks: string[] = [];
  let items: SlideParagraph[] = [];
  const flush = (): void => {
    if (items.length > 0) blocks.push(listOf(items));
    items = [];
  };
  for (const paragraph of paragraphs) {
    if (isList(paragraph)) items.push(paragraph);
    else {
      flush();
      blocks.push(linesOf(paragraph).join("\n"));
    }
  }
  flush();
  return blocks.join("\n\n");
}

function listOf(paragraphs: readonly SlideParagraph[]): string {
  const numbers: number[] = [];
  const items = paragraphs.map((paragraph) => {
    const { level, marker } = paragraph;
    // What stands further in begins to count anew.
    numbers.length = Math.min(numbers.length, level + 1);
    const number = (numbers[level] ?? 0) + 1;
    numbers[level] = marker === "number" ? number : 0;
    const indent = "   ".repeat(level);
    const sign = marker === "number" ? `${number}. ` : "- ";
    return `${indent}${sign}${linesOf(paragraph).join(`\n${indent}   `)}`;
  });
  return items.join("\n");
}

const linesOf = ({ text }: SlideParagraph): string[] =>
  text
    .split("\n")
    .map((line) => escapeMarkers(oneLine(line)))
    .filter((line) => line !== "");

/** A table of one column is lines. */
const tableOf = (rows: readonly (readonly string[])[]): string =>
  pipeTable(rows.map((row) => row.map((cell) => oneLine(cell).replaceAll("|", "\\|")))) ??
  rows.map((row) => escapeMarkers(oneLine(row.join(" ")))).join("\n\n");
