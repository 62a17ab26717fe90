/** Memory that native code is handed by address, kept until it is done with it. */
import { type Pointer, ptr } from "bun:ffi";

/**
 * Hands the addresses of the buffers to `use`. An address keeps nothing alive: the collector would
 * be free to take a buffer back, and give it to somebody else, while native code still reads it.
 */
export function withPointers<Result>(
  buffers: readonly Uint8Array[],
  use: (...pointers: Pointer[]) => Result,
): Result {
  try {
    return use(...buffers.map((buffer) => ptr(buffer)));
  } finally {
    // Used after the call, so that nothing before it may be collected.
    for (const buffer of buffers) buffer.fill(0);
  }
}

/** A text as C reads it. */
export const toCString = (text: string): Uint8Array => new TextEncoder().encode(`${text}\0`);
