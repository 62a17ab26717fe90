/** The licence notice of one thing that the program is made of, as its package tells it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Notice {
  name: string;
  version: string;
  /** As its author names it: an SPDX expression as a rule. Empty where it names none. */
  license: string;
  /** The licence and what has to be said with it; empty where no file has it. */
  text: string;
}

/** `LICENSE`, `LICENCE.md`, `COPYING`, `NOTICE`, and `bundle.js.LICENSE.txt` for what a bundle holds. */
const licenseFile = /^(?:.+\.)?(?:licen[cs]e|copying|notice)(?:[.-][a-z0-9-]+)*$/i;
const isCode = /\.(?:[cm]?[jt]sx?|json|map)$/i;

export async function packageNotice(folder: string): Promise<Notice> {
  const described: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && licenseFile.test(entry.name) && !isCode.test(entry.name))
    .map(({ name }) => name)
    .sort();
  const texts = await Promise.all(files.map((file) => licenseText(join(folder, file))));
  return {
    name: textAt(described, "name"),
    version: textAt(described, "version"),
    license: declaredLicense(described),
    text: [...new Set(texts)].join("\n\n"),
  };
}

/** A licence as it is to be printed: lines that end alike, and nothing around it. */
export async function licenseText(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?|\f/g, "\n")
    .replace(/^\n+|\s+$/g, "");
}

/** The field as it is written today, or as packages of long ago have it. */
function declaredLicense(described: unknown): string {
  const several = valueAt(described, "licenses");
  const each = Array.isArray(several) ? several : [];
  return (
    textAt(described, "license") ||
    textAt(described, "license", "type") ||
    each.map((one) => textAt(one, "type")).join(" OR ")
  );
}

/** A text inside a parsed file; empty where there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

const valueAt = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => new Map(Object.entries(Object(at))).get(name), value);
