/** The text of a file of this repository, or of an installed package. */
import { join } from "node:path";

export const read = (path: string): Promise<string> =>
  Bun.file(join(import.meta.dir, "..", "..", path)).text();
