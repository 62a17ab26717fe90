/** A stream of bytes as lines of text; one that never ends is refused before it fills the memory. */
import { NodeError } from "../core/errors.ts";

/** Some thousand times the length of a passage with its vector. */
const longestLine = 16 << 20;

export async function* linesOf(
  stream: AsyncIterable<Uint8Array>,
  longest = longestLine,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let number = 1;
  let pieces: string[] = [];
  let length = 0;
  for await (const bytes of stream) {
    const [first = "", ...rest] = decoder.decode(bytes, { stream: true }).split("\n");
    pieces.push(first);
    length += first.length;
    for (const next of rest) {
      yield withoutReturn(pieces.join(""));
      number += 1;
      pieces = [next];
      length = next.length;
    }
    if (length > longest) {
      throw new NodeError(
        "invalid_request",
        `Line ${number} is longer than ${longest} characters; write one passage a line.`,
      );
    }
  }
  const last = pieces.join("") + decoder.decode();
  if (last !== "") yield withoutReturn(last);
}

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);
