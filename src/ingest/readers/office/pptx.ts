/** Reads PowerPoint presentations: slides in order, with notes, without hidden slides, pictures and charts. */
import { beyond, unreadable } from "../limits.ts";
import type { ReadOptions, ReadText } from "../read.ts";
import { escapeMarkers, heading, oneLine, pipeTable } from "../text/markdown.ts";
import {
  type ElementCount,
  mainPart,
  officeParts,
  parseXml,
  relationshipId,
  relationshipsOf,
  type XmlAttributes,
} from "./package.ts";
import type { ZipParts } from "./zip.ts";

export async function readPptx(bytes: Uint8Array, { limits }: ReadOptions): Promise<ReadText> {
  const slides = await officeParts(bytes, limits, "pptx", (parts) => {
    const count: ElementCount = { elements: 0, limits };
    const names = slideNames(parts, count);
    if (names.length > limits.max_pages) throw beyond("max_pages", limits);
    return names.map((name, index) => readSlide(parts, name, index + 1, count));
  });
  const shown = slides.filter(({ isHidden }) => !isHidden);
  if (shown.length === 0 && slides.length > 0) {
    throw unreadable("has hidden slides only; show those that are to be read");
  }
  const hasText = shown.some(
    ({ shapes, notes }) => shapes.length + (notes?.shapes.length ?? 0) > 0,
  );
  return hasText ? [shown.map(slideMarkdown).join("\n\n")] : [];
}

/** The parts of the slides in the order of the presentation. */
function slideNames(parts: ZipParts, count: ElementCount): string[] {
  const presentation = mainPart(parts);
  const relationships = relationshipsOf(parts, presentation);
  const names: string[] = [];
  const open = (element: string, attributes: Readonly<Record<string, string>>): void => {
    if (element !== "sldId") return;
    const id = relationshipId(attributes);
    // Lists of sections name slides too, without saying where they are.
    if (id === undefined) return;
    const slide = relationships.get(id);
    if (slide === undefined) throw new Error(`the slide ${id} is missing`);
    names.push(slide.target);
  };
  parseXml(parts.read(presentation), { open }, count);
  return names;
}

function readSlide(parts: ZipParts, name: string, number: number, count: ElementCount): WholeSlide {
  const slide = parseSlide(parts.read(name), count);
  const diagrams = new Map<string, Slide>();
  if (slide.isHidden) return { ...slide, number, diagrams };
  const relationships = relationshipsOf(parts, name);
  for (const shape of slide.shapes) {
    if (!("relationship" in shape)) continue;
    const xml = parts.find(relationships.get(shape.relationship)?.target);
    if (xml !== undefined) diagrams.set(shape.relationship, parseSlide(xml, count));
  }
  const notes = [...relationships.values()].find(({ type }) => type === "notesSlide")?.target;
  const xml = parts.find(notes);
  return { ...slide, number, diagrams, ...(xml && { notes: parseSlide(xml, count) }) };
}

/** A slide with what other parts hold of it. */
interface WholeSlide extends Slide {
  /** Where it stands, from 1. */
  number: number;
  /** Diagrams by their relationship. */
  diagrams: ReadonlyMap<string, Slide>;
  notes?: Slide;
}

const titles = ["title", "ctrTitle"];
/** What repeats on every slide: date, footer, header, number; and the picture of the slide above its notes. */
const running = ["dt", "ftr", "hdr", "sldNum", "sldImg"];
/** Places whose paragraphs have bullets unless they say otherwise. */
const lists = ["body", "obj", "half", "quarter"];

const textsOf = (shapes: Slide["shapes"] = []): SlideText[] =>
  shapes.filter((shape) => "paragraphs" in shape);

function slideMarkdown({ number, shapes, diagrams, notes }: WholeSlide): string {
  const title = textsOf(shapes).find(({ placeholder = "" }) => titles.includes(placeholder));
  const name = oneLine(title?.paragraphs.map(({ text }) => text).join(" ") ?? "");
  const blocks = [heading(1, name === "" ? `Slide ${number}` : name)];
  for (const shape of shapes) {
    if ("rows" in shape) blocks.push(tableOf(shape.rows));
    else if ("relationship" in shape) {
      const parts = textsOf(diagrams.get(shape.relationship)?.shapes);
      blocks.push(listOf(parts.flatMap(({ paragraphs }) => paragraphs)));
    } else if (shape !== title) blocks.push(textOf(shape));
  }
  const spoken = textsOf(notes?.shapes)
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
    // What stands further in starts to count from one.
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

interface SlideParagraph {
  text: string;
  /** How far it is indented, from 0. */
  level: number;
  /** What is set before it; undefined where that follows from the slide's layout. */
  marker: "bullet" | "number" | "none" | undefined;
}

interface SlideText {
  /** Which place of the layout it fills, such as `title`, `body` or `sldNum`; undefined for a text box. */
  placeholder: string | undefined;
  paragraphs: SlideParagraph[];
}

interface SlideTable {
  rows: string[][];
}

/** A diagram's text is in a part of its own. */
interface SlideDiagram {
  relationship: string;
}

/** What a slide holds, or its notes, or a diagram on it: shapes with paragraphs, and tables, in their order. */
interface Slide {
  isHidden: boolean;
  shapes: (SlideText | SlideTable | SlideDiagram)[];
}

const markers: Readonly<Record<string, SlideParagraph["marker"]>> = {
  buNone: "none",
  buChar: "bullet",
  buBlip: "bullet",
  buAutoNum: "number",
};

/** Characters that cells over several rows may repeat on a slide; beyond it, the cells below stay blank. */
const mostRepeated = 500_000;

/** As deep as PowerPoint indents. */
const deepest = 8;

function parseSlide(xml: Uint8Array, count: ElementCount): Slide {
  const slide: Slide = { isHidden: false, shapes: [] };
  let shape: SlideText | undefined;
  let paragraph: SlideParagraph | undefined;
  let rows: string[][] | undefined;
  let repeated = 0;
  let cell: { lines: string[]; isBelow: boolean } | undefined;

  const open: Readonly<Record<string, (attributes: XmlAttributes) => void>> = {
    sld: ({ show }) => {
      slide.isHidden = show === "0" || show === "false";
    },
    sp: () => {
      shape = { placeholder: undefined, paragraphs: [] };
    },
    // A point of a diagram.
    pt: () => {
      shape = { placeholder: "body", paragraphs: [] };
    },
    ph: ({ type = "obj" }) => {
      if (shape !== undefined) shape.placeholder = type;
    },
    tbl: () => {
      rows = [];
    },
    tr: () => rows?.push([]),
    tc: ({ vMerge }) => {
      cell = { lines: [], isBelow: vMerge === "1" || vMerge === "true" };
    },
    p: () => {
      paragraph = { text: "", level: 0, marker: undefined };
    },
    pPr: ({ lvl = "0" }) => {
      const level = Number.parseInt(lvl, 10);
      if (paragraph !== undefined && level > 0) paragraph.level = Math.min(level, deepest);
    },
    br: () => {
      if (paragraph !== undefined) paragraph.text += "\n";
    },
    relIds: (attributes) => {
      const relationship = relationshipId(attributes, "dm");
      if (relationship !== undefined) slide.shapes.push({ relationship });
    },
  };

  const close: Readonly<Record<string, (text: string) => void>> = {
    t: (text) => {
      if (paragraph !== undefined) paragraph.text += text;
    },
    p: () => {
      if (paragraph === undefined || paragraph.text.trim() === "") return;
      if (cell !== undefined) cell.lines.push(paragraph.text);
      else shape?.paragraphs.push(paragraph);
      paragraph = undefined;
    },
    tc: () => {
      const row = rows?.at(-1);
      if (cell === undefined || row === undefined) return;
      // A cell over several rows says its text in each of them.
      const above = cell.isBelow ? rows?.at(-2)?.[row.length] : undefined;
      repeated += above?.length ?? 0;
      row.push(repeated > mostRepeated ? "" : (above ?? cell.lines.join(" ")));
      cell = undefined;
    },
    tbl: () => {
      if (rows !== undefined) slide.shapes.push({ rows });
      rows = undefined;
    },
    sp: () => endShape(),
    pt: () => endShape(),
  };
  const endShape = (): void => {
    if (shape !== undefined && shape.paragraphs.length > 0) slide.shapes.push(shape);
    shape = undefined;
  };

  parseXml(
    xml,
    {
      open: (name, attributes) => {
        if (Object.hasOwn(open, name)) open[name]?.(attributes);
        else if (paragraph !== undefined && Object.hasOwn(markers, name)) {
          paragraph.marker = markers[name];
        }
      },
      close: (name, text) => {
        if (Object.hasOwn(close, name)) close[name]?.(text);
      },
    },
    count,
  );
  return slide;
}
