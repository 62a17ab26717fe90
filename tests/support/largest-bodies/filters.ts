/** Filters of searches. */
import { times } from "./parts.ts";

export const nestedFilter = (depth: number): string =>
  `${'{"type":"and","filters":['.repeat(depth)}{"type":"eq","key":"a","value":1}${"]}".repeat(depth)}`;
export const filterList = (count: number): string =>
  `{"type":"or","filters":[${times(count, '{"type":"eq","key":"a","value":1}')}]}`;
