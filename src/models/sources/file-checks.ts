/** Checks of a download: that it is a GGUF, of a known length, and that the disk has room for it. */
import { statfs } from "node:fs/promises";
import { byteSize } from "../../core/byte-size.ts";
import { NodeError } from "../../core/errors.ts";
import type { SourceResponse } from "./http-request.ts";

const magic = new TextEncoder().encode("GGUF");

/** Bytes that are needed to tell whether a file is a GGUF. */
export const headLength = magic.length;

/** What is wrong with the first bytes of a model, where something is. */
export function headProblem(head: Uint8Array, host: string): NodeError | undefined {
  if (magic.every((byte, at) => head[at] === byte)) return undefined;
  const shown = JSON.stringify(new TextDecoder().decode(head.slice(0, 16)));
  return new NodeError(
    "unavailable",
    `What ${host} sends is no GGUF file (it begins with ${shown}). Give the address of the file itself, not of a page about it.`,
  );
}

export function checkLength(
  { response, url, size }: SourceResponse,
  total: number | undefined,
  digest: string | undefined,
): void {
  const { host } = new URL(url);
  if (total === undefined) {
    if (response.headers.has("transfer-encoding") || digest !== undefined) return;
    throw new NodeError(
      "unavailable",
      `${host} does not say how long the file is, so nobody could tell a whole one from a cut one. Give its digest: paddock pull --sha256 HEX.`,
    );
  }
  if (size === undefined || size === total) return;
  throw new NodeError(
    "unavailable",
    `${host} would send ${total} bytes, but the hub says that the file has ${size}.`,
  );
}

/** How many bytes a file of unknown length may have, so that `reserve` is left free on the disk. */
export async function roomForUnsized(folder: string, reserve: number): Promise<number> {
  return Math.max(0, (await freeBytes(folder)) - reserve);
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

export async function checkRoom(folder: string, bytes: number, source: string): Promise<void> {
  const free = await freeBytes(folder);
  if (bytes <= free) return;
  throw new NodeError(
    "unavailable",
    `There is too little room for '${source}': ${byteSize(bytes)} are needed and ${byteSize(free)} are free in ${folder}. Make room, or set data_dir to a larger disk.`,
  );
}
