/** Reads the images of messages, for every API. */
import {
  type CheckedImage,
  checkAddress,
  checkEncoded,
  type EncodedImage,
} from "../../core/chat/images.ts";
import { given } from "../../core/given.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import type { ChatMessage, Content, Image, MessageImage } from "../../core/ports/chat-engine.ts";
import type { RequestContext } from "../request-context.ts";
import { refuse, required } from "./fields.ts";

/** An image as an API sent it: an address, an uploaded file, or base64; one of them is required. */
export interface SentImage {
  /** The field that has it, below the part: `.image_url.url`. */
  field: string;
  url?: string | null | undefined;
  file?: string | null | undefined;
  encoded?: EncodedImage | undefined;
  detail?: string | null | undefined;
}

/** `param`: the path of the part that is an image. */
export type ImageReader = (sent: SentImage, param: string) => Image;

export interface ImageNeeds {
  models: ModelRegistry;
  limits: { maxImageBytes: number };
}

/** Reads images for a model, if it sees. */
export function imagesFor(
  model: string,
  context: Pick<RequestContext, "authenticate">,
  needs: ImageNeeds,
): ImageReader {
  const { models, limits } = needs;
  const read = anyImages(context, limits);
  return (sent, param) => {
    const { card } = models.chat(model);
    if (card.vision !== true) throw models.cannotSee(card.name, `'${param}' is an image`, param);
    return read(sent, param);
  };
}

/** Of a request. No model has room for more. */
const mostImages = 1000;

/** Reads images that a model will see later. */
export function anyImages(
  context: Pick<RequestContext, "authenticate">,
  { maxImageBytes: most }: ImageNeeds["limits"],
): ImageReader {
  let mayReadFiles = false;
  let count = 0;
  return ({ field, url, file, encoded, detail }, param) => {
    if (++count > mostImages) {
      throw refuse(param, `is one of more than ${mostImages} images, and no more may be sent`);
    }
    const rest = given({ detail: detail ?? undefined });
    if (file) {
      // As for GET /v1/files/{id}/content; whether it is the caller's is checked when it is read.
      if (!mayReadFiles) context.authenticate("chat", "documents");
      mayReadFiles = true;
      return { file, ...rest };
    }
    const place = `${param}${field}`;
    const checked = encoded
      ? checkEncoded(encoded, most)
      : checkAddress(required(url, place, "the image"), most);
    return { ...accepted(checked, place), ...rest };
  };
}

function accepted(checked: CheckedImage, param: string): { url: string } {
  if ("url" in checked) return checked;
  throw refuse(param, checked.problem);
}

/** For operations that read the text of messages. */
export const noImages: ImageReader = (_, param) => {
  throw refuse(param, "is an image; this operation reads text only, no images");
};

/** For messages of a role that no model reads images of. */
export const noImagesOf =
  (role: ChatMessage["role"]): ImageReader =>
  (_, param) => {
    throw refuse(
      param,
      `is an image in a message with the role '${role}'; only the user's messages and results of tools have images`,
    );
  };

/** Collects the texts and images of a message in their order. */
export class MixedContent {
  #content = "";
  #isBegun = false;
  readonly #images: MessageImage[] = [];
  readonly #separator: string;

  /** `separator`: comes between texts of different parts. */
  constructor(separator = "") {
    this.#separator = separator;
  }

  beginPart(): void {
    this.#isBegun = true;
  }

  addText(text: string): void {
    if (text === "") return;
    const isNext = this.#isBegun && this.#content !== "";
    this.#isBegun = false;
    this.#content += isNext ? `${this.#separator}${text}` : text;
  }

  addImage(image: Image): void {
    this.#images.push({ ...image, at: this.#content.length });
  }

  get isEmpty(): boolean {
    return this.#content === "" && this.#images.length === 0;
  }

  /** `images` is absent if there are none. */
  get read(): Content {
    const content = this.#content;
    return this.#images.length === 0 ? { content } : { content, images: this.#images };
  }
}
