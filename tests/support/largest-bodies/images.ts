/** Bodies with images, for a model that reads them: `far-chat`. */
import { encodedImage } from "../images.ts";
import { bytes, times } from "./parts.ts";

/** The node's default for `limits.max_image_bytes`. */
const largest = 8 * 1024 * 1024;
const model = '"model":"far-chat"';
const small = encodedImage();
const png = (data: string): string => `"data:image/png;base64,${data}"`;

const chat = (content: string, rest = ""): string =>
  `{${model}${rest},"messages":[{"role":"user","content":[${content}]}]}`;
const part = (data: string): string => `{"type":"image_url","image_url":{"url":${png(data)}}}`;
const block = (data: string): string =>
  `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${data}"}}`;
const fileBlock = (at: number): string =>
  `{"type":"image","source":{"type":"file","file_id":"file-${at}"}}`;
const input = (content: string): string =>
  `{${model},"input":[{"role":"user","content":[${content}]}]}`;
const inputPart = (data: string): string => `{"type":"input_image","image_url":${png(data)}}`;
const ollama = (images: string): string =>
  `{${model},"stream":false,"messages":[{"role":"user","content":"a","images":[${images}]}]}`;

const many = 10_000;
/** As many images as a request may have, and in all as large as a body may be. */
const most = 1000;
const share = encodedImage("image/png", 12_000);

const one = (): string => encodedImage("image/png", largest);
const chatPath = "/v1/chat/completions";
const max = ',"max_tokens":9';

const bodies: readonly [path: string, what: string, status: number, body: () => string][] = [
  [chatPath, "the largest image", 200, () => chat(part(one()))],
  [chatPath, "the largest image, grounded", 200, () => chat(part(one()), ',"rag":true')],
  [chatPath, "a larger image", 400, () => chat(part(encodedImage("image/png", bytes * 0.7)))],
  [chatPath, "base64 whose end is none", 400, () => chat(part(`${one().slice(0, -4)}!`))],
  [chatPath, "as many images as there can be", 200, () => chat(times(most, part(share)))],
  [chatPath, "too many images", 400, () => chat(times(many, part(small)))],
  ["/v1/responses", "the largest image", 200, () => input(inputPart(one()))],
  ["/v1/responses", "as many as there can be", 200, () => input(times(most, inputPart(share)))],
  ["/v1/responses", "too many images", 400, () => input(times(many, inputPart(small)))],
  ["/v1/messages", "the largest image", 200, () => chat(block(one()), max)],
  ["/v1/messages", "as many as there can be", 200, () => chat(times(most, block(share)), max)],
  ["/v1/messages", "too many images", 400, () => chat(times(many, block(small)), max)],
  ["/v1/messages", "files that are not there", 404, () => chat(times(most, fileBlock), max)],
  ["/api/chat", "the largest image", 200, () => ollama(`"${one()}"`)],
  ["/api/chat", "as many as there can be", 200, () => ollama(times(most, `"${share}"`))],
  ["/api/chat", "too many images", 400, () => ollama(times(120_000, `"${small}"`))],
];

export const imageBodies = bodies.map(([path, what, status, body]) => {
  return { path, what, status, body };
});
