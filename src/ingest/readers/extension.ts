/** The ending of a file's name. */
import { extname } from "node:path";

/** With its dot, in lower case; empty where there is none. */
export const extensionOf = (name: string): string => extname(name).toLowerCase();
