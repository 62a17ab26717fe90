/** Folders that are made on the way to a model's file, perhaps the data dir among them: their owner's alone. */
import { mkdir } from "node:fs/promises";

const ownersAlone = 0o700;

/** Those that are there stay as they are. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: ownersAlone });
}
