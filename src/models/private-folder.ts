/** Makes folders that only their owner can read: the one of a model's file, and those above it. */
import { mkdir } from "node:fs/promises";

const ownerOnly = 0o700;

/** Folders that exist keep their rights. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: ownerOnly });
}
