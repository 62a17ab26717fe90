/** PowerPoint presentations: slides in their order, with notes. Hidden slides, pictures and charts are left out. */
import { beyond } from "./limits.ts";
import { officeParts } from "./office-file.ts";
import { mainPart, relationshipsOf } from "./office-package.ts";
import { slideMarkdown, type WholeSlide } from "./pptx-markdown.ts";
import { parseSlide, type Slide } from "./pptx-slide.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { unreadable } from "./unreadable.ts";
import { type ElementCount, parseXml, relationshipId } from "./xml.ts";
import type { ZipParts } from "./zip-parts.ts";

export function readPptx(bytes: Uint8Array, { limits }: ReadOptions): ReadText {
  const slides = officeParts(bytes, limits, "pptx", (parts) => {
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
  if (slide.isHidden) return { ...slide, number, diagrams, notes: undefined };
  const relationships = relationshipsOf(parts, name);
  for (const shape of slide.shapes) {
    if (!("relationship" in shape)) continue;
    const target = relationships.get(shape.relationship)?.target;
    const xml = target === undefined ? undefined : parts.find(target);
    if (xml !== undefined) diagrams.set(shape.relationship, parseSlide(xml, count));
  }
  const notesPart = [...relationships.values()].find(({ type }) => type === "notesSlide")?.target;
  const notes = notesPart === undefined ? undefined : parts.find(notesPart);
  return {
    ...slide,
    number,
    diagrams,
    notes: notes === undefined ? undefined : parseSlide(notes, count),
  };
}
