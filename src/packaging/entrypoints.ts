/** The modules that a bundle of the program begins with: the program, and each that is a thread of its own. */
import { join } from "node:path";

/** The second is a thread of a runner, on systems that need it. */
const modules = [
  "main.ts",
  "parent-watch.ts",
  "store/sqlite/index-thread.ts",
  "store/responses/responses-thread.ts",
  "store/documents/documents-thread.ts",
];

export const entrypoints = (root: string): string[] =>
  modules.map((module) => join(root, "src", module));
