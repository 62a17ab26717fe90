/** Reads e-mails: sender, recipients, date, subject and text. Attachments are named, but not read. */
import PostalMime, { type Address, type Attachment, type Email } from "postal-mime";
import { beginsWithHeader } from "./detect-format.ts";
import { htmlToMarkdown } from "./html/html.ts";
import { asUnreadable, type ReadLimits, unreadable } from "./limits.ts";
import type { ReadOptions, ReadText } from "./read.ts";
import { escapeMarkers, heading, oneLine } from "./text/markdown.ts";

/** Messages within messages; deeper ones are named like attachments. */
const deepest = 5;
/** The library takes some microseconds and a kilobyte for each. */
const mostLines = 4_000_000;
const mostParts = 100_000;

export async function readEml(bytes: Uint8Array, { limits }: ReadOptions): Promise<ReadText> {
  refuseLarge(bytes);
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  if (!beginsWithHeader(start)) {
    throw unreadable("is not an e-mail: it does not begin with header lines");
  }
  try {
    return [(await messageBlocks(bytes, 1, limits)).join("\n\n")];
  } catch (cause) {
    throw asUnreadable(cause, "is damaged or not an e-mail; save it again as .eml");
  }
}

async function messageBlocks(
  bytes: Uint8Array | ArrayBuffer,
  level: number,
  limits: ReadLimits,
): Promise<string[]> {
  const mail = await PostalMime.parse(bytes, {
    // Messages within this one become sections of their own.
    forceRfc822Attachments: true,
    attachmentEncoding: "arraybuffer",
  });
  refuseEncrypted(mail);
  const title = heading(level, mail.subject?.trim() || "(no subject)");
  const blocks = [title, headerLines(mail), bodyOf(mail, limits)];
  const isRead = (attachment: Attachment): boolean => level <= deepest && isMessage(attachment);
  const unread = mail.attachments.filter(
    (each) => each.related !== true && !isRead(each) && !isSignature(each),
  );
  if (unread.length > 0) {
    blocks.push(`Attachments, which were not read: ${listed(unread, nameOf)}`);
  }
  for (const { content } of mail.attachments.filter(isRead)) {
    if (typeof content === "string") continue;
    for (const block of await messageBlocks(content, level + 1, limits)) blocks.push(block);
  }
  return blocks.filter((block) => block !== "");
}

/** Plain text is what people wrote, before the HTML that their program made of it. */
function bodyOf({ text = "", html = "" }: Email, limits: ReadLimits): string {
  if (text.trim() !== "") return asMarkdown(text);
  return html.trim() === "" ? "" : htmlToMarkdown(html, limits);
}

/** Plain text whose lines are no headings, also where dashes stand under one, as above a signature. */
const asMarkdown = (text: string): string =>
  escapeMarkers(text.replace(/\r\n?/g, "\n").trim()).replace(
    /\n(?=[ \t]{0,3}(?:-+|=+)[ \t]*(?:\n|$))/g,
    "\n\n",
  );

function headerLines({ from, to = [], cc = [], date }: Email): string {
  const lines = [
    ["From", from === undefined ? "" : addressOf(from)],
    ["To", listed(to, addressOf)],
    ["Cc", listed(cc, addressOf)],
    ["Date", date === undefined ? "" : dateOf(date)],
  ];
  return lines
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** So many are named; a long list of addresses says less of a message than its text. */
const mostNamed = 50;

function listed<Item>(items: readonly Item[], name: (item: Item) => string): string {
  const more = items.length - mostNamed;
  const names = items.slice(0, mostNamed).map(name).join(", ");
  return more > 0 ? `${names} and ${more} more` : names;
}

function addressOf({ name, address, group }: Address): string {
  if (group !== undefined) return oneLine(`${name}: ${listed(group, addressOf)}`);
  if (name === "" || name === undefined) return oneLine(address ?? "");
  return oneLine(address === undefined || address === "" ? name : `${name} <${address}>`);
}

/** A date that is one, without seconds; else as it is written. */
const dateOf = (date: string): string =>
  oneLine(date).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):.*Z$/, "$1 $2 UTC");

const isMessage = ({ mimeType }: Attachment): boolean => mimeType === "message/rfc822";

const isSignature = ({ mimeType }: Attachment): boolean =>
  /^application\/(?:pgp|(?:x-)?pkcs7)-signature$/.test(mimeType);

const nameOf = ({ filename, mimeType }: Attachment): string =>
  filename === null || filename === "" ? mimeType : `${oneLine(filename)} (${mimeType})`;

function refuseEncrypted({ headers }: Email): void {
  const type = headers.find(({ key }) => key === "content-type")?.value ?? "";
  if (/^multipart\/encrypted|smime-type="?enveloped-data/i.test(type)) {
    throw unreadable("is encrypted; open it in your mail program, and save it without encryption");
  }
}

const newline = 0x0a;
const dash = 0x2d;

/** Counts what the library would make objects of, before it does. */
function refuseLarge(bytes: Uint8Array): void {
  let lines = 0;
  let parts = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) {
    lines += 1;
    if (bytes[at + 1] === dash && bytes[at + 2] === dash) parts += 1;
  }
  if (lines <= mostLines && parts <= mostParts) return;
  const most = lines > mostLines ? `${mostLines} lines` : `${mostParts} parts`;
  throw unreadable(`has more than ${most}; no e-mail of a person has`);
}
