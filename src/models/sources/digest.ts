/** The sha256 of files. */
import { NodeError } from "../../core/errors.ts";

/** A digest of what a file holds, to go on with. */
export async function hashOf(path: string): Promise<Bun.CryptoHasher> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash;
}

/** For a file that was there before anybody said what it should be. */
export async function checkDigest(path: string, sha256: string): Promise<void> {
  const found = (await hashOf(path)).digest("hex");
  if (found === sha256) return;
  throw new NodeError(
    "unavailable",
    `The file ${path} is there, but it is not the one it should be: its sha256 is ${found}, expected ${sha256}. Remove it and pull again, or check the digest.`,
  );
}
