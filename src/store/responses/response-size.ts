/** How large a response may be that is kept, told without writing it as text. */
import { NodeError } from "../../core/errors.ts";

/** Whether all together are too large as JSON. Counts no more than the text would have at least, and no further than to the bound. */
export function isLargerThan(most: number, values: readonly unknown[]): boolean {
  let left = most;
  const take = (part: unknown): void => {
    if (left < 0) return;
    if (typeof part === "string") left -= part.length + 2;
    else if (typeof part !== "object" || part === null) left -= part === undefined ? 0 : 1;
    else if (Array.isArray(part)) {
      left -= 1 + part.length;
      for (const item of part) {
        if (left < 0) return;
        take(item);
      }
    } else {
      for (const [name, content] of Object.entries(part)) {
        if (left < 0) return;
        if (content === undefined) continue;
        left -= name.length + 3;
        take(content);
      }
    }
  };
  for (const value of values) take(value);
  return left < 0;
}

export const tooLarge = (bytes: string, most: number): NodeError =>
  new NodeError(
    "payload_too_large",
    `The response has ${bytes} bytes with its conversation, and ${most} are kept at most. Send a shorter conversation, send 'store': false, or raise responses.max_response_bytes.`,
    { param: "store" },
  );
