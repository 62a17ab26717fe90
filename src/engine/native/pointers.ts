/** Numbers and addresses between JavaScript and C. */
import type { Pointer } from "bun:ffi";

export type NativePointer = Pointer;

/** A whole number that JavaScript happens to hold as a double arrives in C as 0. */
export const int = (value: number): number => value | 0;

const isPointer = (value: unknown): value is Pointer => typeof value === "number" && value > 0;

export function toPointer(value: unknown, otherwise: string): Pointer {
  if (isPointer(value)) return value;
  throw new Error(otherwise);
}
