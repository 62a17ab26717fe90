/** The size of a file; undefined where there is none. */
import { stat } from "node:fs/promises";

export async function sizeOf(path: string): Promise<number | undefined> {
  return await stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
