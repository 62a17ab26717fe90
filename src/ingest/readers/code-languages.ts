/** The languages whose structure is known, by the endings of their files. */
import { bracketLanguages } from "./code-bracket-languages.ts";
import type { Language } from "./code-language.ts";
import { otherLanguages } from "./code-other-languages.ts";

const byExtension = new Map<string, Language>(
  [...bracketLanguages, ...otherLanguages].flatMap((language) =>
    language.extensions.split(" ").map((extension) => [`.${extension}`, language] as const),
  ),
);

/** Endings with a dot, in lower case. */
export const codeExtensions: readonly string[] = [...byExtension.keys()];

export const languageOf = (extension: string): Language | undefined => byExtension.get(extension);
