/** Random ids; `crypto.randomUUID` is missing where the page came over plain HTTP. */

export function newId(): string {
  const numbers = crypto.getRandomValues(new Uint32Array(3));
  return [...numbers].map((number) => number.toString(36)).join("-");
}
