/** The names of files that models were transcoded into, by which they are found again. */
import { type Quantization, quantizations } from "./quantization.ts";

/** Hexadecimal digits of a digest: enough to tell the files of one folder apart. */
const digestLength = 16;

/** What the weights of a file are called in another form: `digest` is theirs, so that other weights have another name. */
export const transcodedName = (file: string, type: Quantization, digest: string): string =>
  `${file.replace(/(-\d{5}-of-\d{5})?\.gguf$/i, "")}${markOf(digest)}${type}.gguf`;

/** What stands in the name of everything that was made from these weights. */
export const markOf = (digest: string): string => `.from-${digest.slice(0, digestLength)}.`;

const transcoded = new RegExp(
  `\\.from-[0-9a-f]{${digestLength}}\\.(${quantizations.join("|")})\\.gguf$`,
);

export const isTranscoded = (file: string): boolean => transcoded.test(file);

/** What earlier versions called it, whatever the weights were. */
export const formerTranscodedName = (file: string, type: Quantization): string =>
  `${file.replace(/(\.[\w-]+)?\.gguf$/, "")}.${type}.gguf`;

/** At the end of the name of the note that says what a file was made from. */
export const madeFromSuffix = ".made-from.json";
