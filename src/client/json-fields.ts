/** Lenient readers for JSON fields: a value of an unexpected type counts as absent. */

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const fieldAt = (value: unknown, key: string): unknown =>
  isObject(value) ? value[key] : undefined;

export const objectAt = (value: unknown, key: string): JsonObject | undefined => {
  const field = fieldAt(value, key);
  return isObject(field) ? field : undefined;
};

export const listAt = (value: unknown, key: string): readonly unknown[] => {
  const field = fieldAt(value, key);
  return Array.isArray(field) ? field : [];
};

export const textAt = (value: unknown, key: string): string | undefined => {
  const field = fieldAt(value, key);
  return typeof field === "string" ? field : undefined;
};

export const flagAt = (value: unknown, key: string): boolean | undefined => {
  const field = fieldAt(value, key);
  return typeof field === "boolean" ? field : undefined;
};

export const numberAt = (value: unknown, key: string): number | undefined => {
  const field = fieldAt(value, key);
  return typeof field === "number" && Number.isFinite(field) ? field : undefined;
};

/** Larger than any count of tokens, texts or seconds. */
const mostCount = 2 ** 40;

/** An integer from 0 to `mostCount`. */
export const countAt = (value: unknown, key: string): number | undefined => {
  const count = numberAt(value, key);
  const isCount = count !== undefined && Number.isInteger(count) && count >= 0;
  return isCount && count <= mostCount ? count : undefined;
};

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
