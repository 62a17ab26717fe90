/** Images of a conversation: checks what they are, reads uploaded ones, and keeps their places in the text. */
import type { DocumentCaller } from "../documents/document-caller.ts";
import type { FileService } from "../documents/file-service.ts";
import type { FileRecord } from "../documents/records.ts";
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { ChatMessage, Content, MessageImage } from "../ports/chat-engine.ts";
import { quoted } from "../quoted.ts";
import { Turns } from "../turns.ts";

/** An image in base64; `type`: the media type that the caller gave it, if any. */
export interface EncodedImage {
  data: string;
  type?: string | undefined;
}

/** A problem continues after the name of the field or file: "is not base64". */
export type CheckedImage = { url: string } | { problem: string };

/** The types that vision models read, each with how its content begins. */
const beginnings: readonly (readonly [type: string, pattern: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["image/gif", /^GIF8[79]a/],
];
const longestBeginning = 12;
const types = "PNG, JPEG, WebP or GIF image";

/** Addresses with signatures have up to two thousand characters. */
const longestAddress = 8192;
const dataUrl = /^data:([^;,]*)((?:;[^;,]+)*),/i;
const longestHead = 256;

/** An address as it is passed on: a `data:` address holds what it says, others are never fetched. */
export function checkAddress(address: string, mostBytes: number): CheckedImage {
  const [head, type = "", parameters = ""] = dataUrl.exec(address.slice(0, longestHead)) ?? [];
  if (head !== undefined) {
    if (!/;base64$/i.test(parameters)) return { problem: "is a data: address without ';base64'" };
    return checkEncoded({ data: address.slice(head.length), type }, mostBytes);
  }
  const isHttp = /^https?:\/\//i.test(address.slice(0, longestHead));
  if (isHttp && address.length <= longestAddress && URL.canParse(address)) return { url: address };
  return {
    problem: isHttp
      ? `is not an address, or has more than ${longestAddress} characters`
      : "must be an http(s) address, or a data: address with an image in base64",
  };
}

export function checkEncoded({ data, type }: EncodedImage, mostBytes: number): CheckedImage {
  if (data.length > mostCharacters(mostBytes)) return tooLarge(mostBytes);
  const bytes = decoded(data);
  if (bytes === undefined) return { problem: "is not base64" };
  return checkBytes(bytes, { type, data }, mostBytes);
}

function decoded(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

/** Room for line breaks, which some encoders write. */
const mostCharacters = (bytes: number): number => Math.ceil(bytes / 3) * 4 * 1.05 + 64;

function checkBytes(bytes: Uint8Array, sent: Partial<EncodedImage>, most: number): CheckedImage {
  if (bytes.length > most) return tooLarge(most);
  const head = Buffer.from(bytes.subarray(0, longestBeginning)).toString("latin1");
  const found = beginnings.find(([, pattern]) => pattern.test(head))?.[0];
  if (found === undefined) return { problem: `is not a ${types}` };
  const said = sent.type?.toLowerCase().replace(/^image\/jpg$/, "image/jpeg");
  if (said !== undefined && said !== found) {
    return { problem: `says that it is ${quoted(said)}, and its content is '${found}'` };
  }
  // Of the same length, line breaks may stand for padding.
  const isPadded = bytes.length % 3 === 0 || sent.data?.endsWith("=") === true;
  const isPlain = isPadded && sent.data?.length === Math.ceil(bytes.length / 3) * 4;
  return { url: `data:${found};base64,${isPlain ? sent.data : bytes.toBase64()}` };
}

const tooLarge = (most: number): CheckedImage => ({
  problem: `has more than the ${most} bytes that an image may have (limits.max_image_bytes)`,
});

/** Who reads files, and what counts the memory that they take; it throws if there is no room. */
export interface ImageReading {
  searcher: DocumentCaller;
  hold: (bytes: number) => void;
}

interface ImageLimits {
  maxImageBytes: number;
  maxBodyBytes: number;
}

/** Reads the uploaded files that a conversation has as images. */
export class ImageFiles {
  readonly #files: Pick<FileService, "content">;
  readonly #limits: ImageLimits;
  readonly #turns = new Turns();

  /** `limits` may change while requests are answered. */
  constructor(files: Pick<FileService, "content">, limits: ImageLimits) {
    this.#files = files;
    this.#limits = limits;
  }

  /** The conversation with `data:` addresses in place of files. Throws for a file that the caller may not see, and for one that is not an image. */
  async read(
    messages: readonly ChatMessage[],
    reader: ImageReading,
    signal: AbortSignal,
  ): Promise<readonly ChatMessage[]> {
    const urls = new Map<string, string>();
    let characters = 0;
    for (const image of messages.flatMap(imagesOf)) {
      if (!("file" in image)) continue;
      signal.throwIfAborted();
      const url = urls.get(image.file) ?? (await this.#dataUrl(image.file, reader));
      urls.set(image.file, url);
      characters += url.length;
      // One file may be named often, and each time is sent to the model's server.
      if (characters > this.#limits.maxBodyBytes) throw this.#tooMuch();
    }
    if (urls.size === 0) return messages;
    const read = (image: MessageImage): MessageImage => {
      if (!("file" in image)) return image;
      const { at, detail, file } = image;
      return { at, url: urls.get(file) ?? "", ...given({ detail }) };
    };
    return messages.map((message) => withImages(message, imagesOf(message).map(read)));
  }

  async #dataUrl(id: string, { searcher, hold }: ImageReading): Promise<string> {
    const { maxImageBytes: most } = this.#limits;
    const { file, bytes } = await this.#files.content(searcher, id);
    const checked =
      file.bytes > most ? tooLarge(most) : await this.#encode(file, bytes, { searcher, hold });
    if ("url" in checked) return checked.url;
    const why = `The file '${id}', which is used as an image, ${checked.problem}.`;
    throw new NodeError("invalid_request", why, { subject: { part: "messages" } });
  }

  async #encode(
    file: FileRecord,
    content: Blob,
    { searcher, hold }: ImageReading,
  ): Promise<CheckedImage> {
    hold(Math.ceil(file.bytes / 3) * 4);
    const bytes = await content.bytes();
    await this.#turns.next(searcher.id);
    return checkBytes(bytes, {}, this.#limits.maxImageBytes);
  }

  #tooMuch(): NodeError {
    const most = this.#limits.maxBodyBytes;
    const why = `The files that are used as images have more than ${most} bytes in base64, and no more may be sent (limits.max_body_bytes).`;
    return new NodeError("invalid_request", why, { subject: { part: "messages" } });
  }
}

export const imagesOf = ({ images = [] }: Content): readonly MessageImage[] => images;

export const hasImages = (messages: readonly Content[]): boolean =>
  messages.some((message) => imagesOf(message).length > 0);

/** Of its text, and of its images in base64. */
export const charactersOf = (message: Content): number =>
  imagesOf(message).reduce(
    (sum, image) => sum + ("url" in image ? image.url.length : 0),
    message.content.length,
  );

const withImages = <Of extends Content>(message: Of, images: readonly MessageImage[]): Of =>
  images.length === 0 ? message : { ...message, images };

/** Puts text before a content, whose images stay where they are in its own text. */
export function withTextBefore<Of extends Content>(message: Of, text: string): Of {
  const moved = imagesOf(message).map((image) => ({ ...image, at: image.at + text.length }));
  return withImages({ ...message, content: `${text}${message.content}` }, moved);
}

const shownOfImage = 1024;

/** Tells images apart without hashing megabytes: a file's first and last bytes, and its length. */
export function imageMarks(message: Content): readonly unknown[] {
  return imagesOf(message).map((image) => {
    if ("file" in image) return [image.at, image.file];
    const { at, url } = image;
    return [at, url.length, url.slice(0, shownOfImage), url.slice(-shownOfImage)];
  });
}
