/** The licence notices as the executable carries them: one compressed file, since most texts repeat each other. */
import { readFile } from "node:fs/promises";
import type { Notice } from "./notice.ts";

const level = 19;

export function packNotices(notices: readonly Notice[]): Uint8Array {
  return Bun.zstdCompressSync(JSON.stringify(notices), { level });
}

export async function unpackNotices(path: string): Promise<readonly Notice[]> {
  return JSON.parse(Bun.zstdDecompressSync(await readFile(path)).toString("utf8"));
}
