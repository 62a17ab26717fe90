/** Writes the tables of docs/configuration.md from the schema. */
import { join } from "node:path";
import { type DescribedKey, modelKeys, nodeKeys } from "../src/config/settings.ts";
import { toMarkdownTable } from "./docs/markdown-table.ts";
import { withParts } from "./docs/marked-parts.ts";

export const configurationFile = join(import.meta.dir, "..", "docs", "configuration.md");

/** More values than this are listed on another page. */
const mostChoices = 10;

/** The page with fresh tables. */
export function configurationPage(page: string): string {
  return withParts(page, {
    "settings of the node": toMarkdownTable(
      ["Key", "Default", "Variable", "Option", "Meaning"],
      nodeKeys().map((key) => [
        code(key.path.join(".")),
        defaultOf(key),
        key.env === undefined ? "–" : code(key.env),
        key.flag === undefined ? "–" : code(`--${key.flag}`),
        meaningOf(key),
      ]),
    ),
    "settings of a model": toMarkdownTable(
      ["Key", "Default", "Meaning"],
      modelKeys().map((key) => [code(key.path.join(".")), defaultOf(key), meaningOf(key)]),
    ),
  });
}

const code = (text: string): string => `\`${text}\``;

function defaultOf({ isRequired, default: value, defaultInWords }: DescribedKey): string {
  if (defaultInWords !== undefined) return defaultInWords;
  if (isRequired) return "required";
  const isNothing = value === undefined || (Array.isArray(value) && value.length === 0);
  if (isNothing) return "none";
  return code(typeof value === "string" ? value : JSON.stringify(value));
}

function meaningOf({ description, choices, range, default: value }: DescribedKey): string {
  const isNamed = choices.every((choice) => description.includes(code(choice)));
  const isBoolean = typeof value === "boolean";
  const allowed =
    isNamed || isBoolean || choices.length > mostChoices
      ? ""
      : ` One of ${choices.map(code).join(", ")}.`;
  const bounds = range === undefined ? "" : ` From ${range[0]} to ${range[1]}.`;
  return `${description}${allowed}${bounds}`.trim();
}

if (import.meta.main) {
  const page = await Bun.file(configurationFile).text();
  await Bun.write(configurationFile, configurationPage(page));
  console.log(`Wrote ${configurationFile}`);
}
