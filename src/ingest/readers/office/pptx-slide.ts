/** What a slide holds, or its notes, or a diagram on it: shapes with paragraphs, and tables, in their order. */
import { type ElementCount, parseXml, relationshipId, type XmlAttributes } from "./xml.ts";

export interface SlideParagraph {
  text: string;
  /** How far it is indented, from 0. */
  level: number;
  /** What is set before it; undefined where that follows from the slide's layout. */
  marker: "bullet" | "number" | "none" | undefined;
}

export interface SlideText {
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

export interface Slide {
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

export function parseSlide(xml: Uint8Array, count: ElementCount): Slide {
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
