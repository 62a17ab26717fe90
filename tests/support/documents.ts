/** Small real PDF and Word files, written for a test from what is in them. */
import {
  Document,
  FootnoteReferenceRun,
  HeadingLevel,
  ImageRun,
  Packer,
  Paragraph,
  Table,
  TableCell,
  TableRow,
  TextRun,
} from "docx";
import PDFDocument from "pdfkit";

/** A paragraph, or another part of a document; a format leaves out what it does not have. */
export type DocumentPart =
  | string
  | { title: string }
  | { heading: string; level?: 1 | 2 | 3 }
  | { list: readonly string[] }
  | { table: readonly (readonly string[])[] }
  | { text: string; note: string }
  | { footer: string }
  | { watermark: string }
  | "drawing"
  | "new page";

export interface PdfSettings {
  /** Without it the file cannot be opened. */
  password?: string;
}

/** A PDF; a table is written as lines, a footer at the bottom of the page, a watermark across it. */
export async function pdfOf(
  parts: readonly DocumentPart[],
  { password }: PdfSettings = {},
): Promise<Uint8Array> {
  const pdf = new PDFDocument(password === undefined ? {} : { userPassword: password });
  const chunks: Uint8Array[] = [];
  pdf.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  const ended = new Promise<void>((resolve) => pdf.on("end", resolve));
  for (const part of parts) writePdfPart(pdf, part);
  pdf.end();
  await ended;
  return new Uint8Array(Buffer.concat(chunks));
}

const margin = 72;
const headingSizes = { 1: 22, 2: 18, 3: 14 };

function writePdfPart(pdf: PDFKit.PDFDocument, part: DocumentPart): void {
  const write = (text: string, size = 11): void => {
    pdf.fontSize(size).text(text).moveDown();
  };
  const writeAt = (y: number, text: string, size = 11): void => {
    pdf.fontSize(size).text(text, margin, y, { lineBreak: false });
  };
  if (part === "new page") pdf.addPage();
  else if (part === "drawing") pdf.rect(margin, pdf.y, 200, 100).fill("gray");
  else if (typeof part === "string") write(part);
  else if ("title" in part) write(part.title, 28);
  else if ("heading" in part) write(part.heading, headingSizes[part.level ?? 1]);
  else if ("list" in part) write(part.list.map((item) => `• ${item}`).join("\n"));
  else if ("table" in part) write(part.table.map((row) => row.join("   ")).join("\n"));
  else if ("note" in part) write(`${part.text} [${part.note}]`);
  else if ("footer" in part) writeAt(pdf.page.height - margin - 20, part.footer);
  else {
    pdf.save().rotate(45);
    writeAt(0, part.watermark, 80);
    pdf.restore();
    pdf.y = margin;
  }
}

/** A Word document; a drawing is a picture. */
export async function docxOf(parts: readonly DocumentPart[]): Promise<Uint8Array> {
  const notes = parts.flatMap((part) =>
    typeof part !== "string" && "note" in part ? [part.note] : [],
  );
  const footnotes = Object.fromEntries(
    notes.map((note, index) => [String(index + 1), { children: [new Paragraph(note)] }]),
  );
  const children = parts.flatMap((part) => docxPart(part, notes));
  return new Uint8Array(
    await Packer.toBuffer(new Document({ footnotes, sections: [{ children }] })),
  );
}

const headingLevels = {
  1: HeadingLevel.HEADING_1,
  2: HeadingLevel.HEADING_2,
  3: HeadingLevel.HEADING_3,
};

function docxPart(part: DocumentPart, notes: readonly string[]): (Paragraph | Table)[] {
  if (part === "new page") return [new Paragraph({ pageBreakBefore: true })];
  if (part === "drawing") return [new Paragraph({ children: [picture()] })];
  if (typeof part === "string") return [new Paragraph(part)];
  if ("title" in part) return [new Paragraph({ text: part.title, heading: HeadingLevel.TITLE })];
  if ("heading" in part) {
    return [new Paragraph({ text: part.heading, heading: headingLevels[part.level ?? 1] })];
  }
  if ("list" in part) return part.list.map((text) => new Paragraph({ text, bullet: { level: 0 } }));
  if ("note" in part) {
    const reference = new FootnoteReferenceRun(notes.indexOf(part.note) + 1);
    return [new Paragraph({ children: [new TextRun(part.text), reference] })];
  }
  if ("table" in part) {
    const rows = part.table.map((texts) => {
      const children = texts.map((text) => new TableCell({ children: [new Paragraph(text)] }));
      return new TableRow({ children });
    });
    return [new Table({ rows })];
  }
  return [];
}

const picture = (): ImageRun =>
  new ImageRun({
    type: "png",
    transformation: { width: 10, height: 10 },
    altText: { name: "dot", title: "dot", description: "a dot" },
    data: Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    ),
  });
