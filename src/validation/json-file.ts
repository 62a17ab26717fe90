/** Reads a JSON file that this program wrote earlier. */
import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Undefined if there is no such file, or it is half written or of another shape. */
export async function readJsonFile<Schema extends TSchema>(
  schema: Schema,
  path: string,
): Promise<Static<Schema> | undefined> {
  try {
    const value: unknown = await Bun.file(path).json();
    return Value.Check(schema, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
