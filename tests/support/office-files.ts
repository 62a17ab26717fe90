/** Presentations and workbooks as several programs write them, from the structure that ECMA-376 gives them. */
import { type ZipContent, zipOf } from "./zip-file.ts";

const types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const strictTypes = "http://purl.oclc.org/ooxml/officeDocument/relationships";
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n';

/** `writer` is whose habits the file has. */
export type Writer = "Office" | "LibreOffice" | "Google" | "Open XML SDK" | "strict";

export interface Relation {
  type: string;
  target: string;
  id?: string;
  isExternal?: boolean;
}

export function relations(all: readonly Relation[], writer: Writer = "Office"): string {
  const base = writer === "strict" ? strictTypes : types;
  const lines = all.map(
    ({ type, target, id, isExternal }, index) =>
      `<Relationship Id="${id ?? `rId${index + 1}`}" Type="${base}/${type}" Target="${target}"${isExternal === true ? ' TargetMode="External"' : ""}/>`,
  );
  return `${declaration}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${lines.join("")}</Relationships>`;
}

const contentTypes = (part: string, type: string): string =>
  `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${part}" ContentType="${type}"/></Types>`;

export const office = "application/vnd.openxmlformats-officedocument";

/** Prefixes are a writer's own choice; the SDK of Microsoft gives all elements of a sheet one. */
const prefixed = (xml: string, prefix: string): string =>
  xml.replace(/<(\/?)(?=[a-z])(?![a-z]+:)/gi, `<$1${prefix}:`);

export interface SlidePart {
  /** What stands in `p:spTree`. */
  shapes: string;
  isHidden?: boolean;
  /** What stands in the tree of the notes. */
  notes?: string;
  relations?: readonly Relation[];
}

/** A shape with paragraphs of DrawingML, `<a:p>…`; `place` is its placeholder. */
export const shape = (paragraphs: string, place?: string): string =>
  `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>${place === undefined ? "" : `<p:ph${place === "" ? ' idx="1"' : ` type="${place}"`}/>`}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:lstStyle/>${paragraphs}</p:txBody></p:sp>`;

export const paragraph = (text: string, properties = ""): string =>
  `<a:p>${properties}<a:r><a:rPr lang="en"/><a:t>${text}</a:t></a:r></a:p>`;

export const title = (text: string): string => shape(paragraph(text), "title");

const spaces =
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"';
const tree = (shapes: string): string =>
  `<p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>${shapes}</p:spTree></p:cSld>`;

/** A presentation; `order` are positions of slides, where they are not shown as they are numbered. */
export async function pptxOf(
  slides: readonly SlidePart[],
  {
    writer = "Office",
    order = slides.map((_, index) => index),
    more = {},
  }: { writer?: Writer; order?: readonly number[]; more?: ZipContent } = {},
): Promise<Uint8Array> {
  const files: Record<string, string | Uint8Array> = {
    "[Content_Types].xml": contentTypes(
      "ppt/presentation.xml",
      `${office}.presentationml.presentation.main+xml`,
    ),
    "_rels/.rels": relations([{ type: "officeDocument", target: "ppt/presentation.xml" }], writer),
    "ppt/presentation.xml": `${declaration}<p:presentation ${spaces}><p:sldMasterIdLst/><p:sldIdLst>${order.map((index) => `<p:sldId id="${256 + index}" r:id="rId${index + 10}"/>`).join("")}</p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": relations(
      slides.map((_, index) => ({
        id: `rId${index + 10}`,
        type: "slide",
        // Some write targets from the root of the package.
        target: `${writer === "Google" ? "/ppt/" : ""}slides/slide${index + 1}.xml`,
      })),
      writer,
    ),
  };
  slides.forEach(({ shapes, isHidden, notes, relations: own = [] }, index) => {
    const number = index + 1;
    files[`ppt/slides/slide${number}.xml`] =
      `${declaration}<p:sld ${spaces}${isHidden === true ? ' show="0"' : ""}>${tree(shapes)}</p:sld>`;
    const noted: Relation[] =
      notes === undefined
        ? []
        : [{ id: "n1", type: "notesSlide", target: `../notesSlides/notesSlide${number}.xml` }];
    files[`ppt/slides/_rels/slide${number}.xml.rels`] = relations([...own, ...noted], writer);
    if (notes === undefined) return;
    files[`ppt/notesSlides/notesSlide${number}.xml`] =
      `${declaration}<p:notes ${spaces}>${tree(notes)}</p:notes>`;
    // The notes lead back to their slide.
    files[`ppt/notesSlides/_rels/notesSlide${number}.xml.rels`] = relations(
      [{ type: "slide", target: `../slides/slide${number}.xml` }],
      writer,
    );
  });
  return await zipOf({ ...files, ...more });
}

export interface SheetPart {
  name: string;
  /** What stands in `sheetData`. */
  rows: string;
  state?: "hidden" | "veryHidden";
  /** What stands behind `sheetData`. */
  after?: string;
}

export interface WorkbookParts {
  writer?: Writer;
  /** What stands in `sst`. */
  strings?: string;
  /** What stands in `styleSheet`. */
  styles?: string;
  is1904?: boolean;
  more?: ZipContent;
}

/** A workbook. */
export async function xlsxOf(
  sheets: readonly SheetPart[],
  { writer = "Office", strings, styles, is1904 = false, more = {} }: WorkbookParts = {},
): Promise<Uint8Array> {
  const prefix = writer === "Open XML SDK" ? "x" : "";
  const space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
  const named = (xml: string): string => (prefix === "" ? xml : prefixed(xml, prefix));
  const part = (root: string, inside: string, attributes = ""): string =>
    `${declaration}${named(`<${root}`)} ${prefix === "" ? "xmlns" : `xmlns:${prefix}`}="${space}" xmlns:r="${types}"${attributes}>${named(`${inside}</${root}>`)}`;
  const files: Record<string, string | Uint8Array> = {
    "[Content_Types].xml": contentTypes(
      "xl/workbook.xml",
      `${office}.spreadsheetml.sheet.main+xml`,
    ),
    "_rels/.rels": relations([{ type: "officeDocument", target: "xl/workbook.xml" }], writer),
    "xl/workbook.xml": part(
      "workbook",
      `<workbookPr${is1904 ? ' date1904="1"' : ""}/><sheets>${sheets.map(({ name, state }, index) => `<sheet name="${name}" sheetId="${index + 1}"${state === undefined ? "" : ` state="${state}"`} r:id="s${index + 1}"/>`).join("")}</sheets>`,
    ),
    "xl/_rels/workbook.xml.rels": relations(
      [
        ...sheets.map((_, index) => ({
          id: `s${index + 1}`,
          type: "worksheet",
          target: `${writer === "Google" ? "/xl/" : ""}worksheets/sheet${index + 1}.xml`,
        })),
        ...(strings === undefined ? [] : [{ type: "sharedStrings", target: "sharedStrings.xml" }]),
        ...(styles === undefined ? [] : [{ type: "styles", target: "styles.xml" }]),
      ],
      writer,
    ),
  };
  if (strings !== undefined) files["xl/sharedStrings.xml"] = part("sst", strings);
  if (styles !== undefined) files["xl/styles.xml"] = part("styleSheet", styles);
  sheets.forEach(({ rows, after = "" }, index) => {
    files[`xl/worksheets/sheet${index + 1}.xml`] = part(
      "worksheet",
      `<sheetData>${rows}</sheetData>${after}`,
    );
  });
  return await zipOf({ ...files, ...more });
}

/** A row of words and numbers, written into the cells themselves. */
export function row(number: number, ...cells: readonly (string | number | null)[]): string {
  const written = cells.map((cell, index) => {
    const reference = `${String.fromCharCode(65 + index)}${number}`;
    if (cell === null) return "";
    return typeof cell === "number"
      ? `<c r="${reference}"><v>${cell}</v></c>`
      : `<c r="${reference}" t="inlineStr"><is><t>${cell}</t></is></c>`;
  });
  return `<row r="${number}">${written.join("")}</row>`;
}
