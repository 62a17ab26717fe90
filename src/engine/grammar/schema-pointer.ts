/** What a `$ref` points to within its document: a JSON Pointer as the fragment of a URI (RFC 6901). */

/** A pointer that cannot be followed; the message says why. */
export class BadPointer extends Error {}

export function followPointer(root: unknown, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) {
    throw new BadPointer("points outside of the schema");
  }
  let target = root;
  for (const key of pointerSteps(reference)) {
    target = memberOf(target, key);
    if (target === undefined) throw new BadPointer("points to nothing");
  }
  return target;
}

/** The steps of a pointer, from the root of its document. */
export const pointerSteps = (reference: string): string[] =>
  reference.split("/").slice(1).map(decoded);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    throw new BadPointer("has a % that is not followed by two hexadecimal digits of UTF-8");
  }
}

function memberOf(target: unknown, key: string): unknown {
  if (Array.isArray(target)) return /^(0|[1-9]\d*)$/.test(key) ? target[Number(key)] : undefined;
  if (typeof target !== "object" || target === null || !Object.hasOwn(target, key))
    return undefined;
  return Reflect.get(target, key);
}
