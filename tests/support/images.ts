/** Images that are none to look at: each begins as its type does. */

const bytesOf = (beginning: string, length: number): Buffer => {
  const bytes = Buffer.alloc(Math.max(length, beginning.length), "x");
  bytes.write(beginning, "latin1");
  return bytes;
};

const beginnings = {
  "image/png": "\x89PNG\r\n\x1a\n",
  "image/jpeg": "\xff\xd8\xff\xe0",
  "image/webp": "RIFF\x00\x00\x00\x00WEBPVP8 ",
  "image/gif": "GIF89a",
} as const;

export const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/gif"] as const;
export type ImageType = (typeof imageTypes)[number];

export const imageBytes = (type: ImageType = "image/png", length = 40): Buffer =>
  bytesOf(beginnings[type], length);

/** In base64. */
export const encodedImage = (type?: ImageType, length?: number): string =>
  imageBytes(type, length).toString("base64");

export const imageUrl = (type: ImageType = "image/png", length?: number): string =>
  `data:${type};base64,${encodedImage(type, length)}`;
