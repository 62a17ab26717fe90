/** A configuration file for people: every key with what it means; those that were chosen are set, the others show their defaults in comments. */
import { stringify } from "smol-toml";
import { type DescribedKey, modelKeys, nodeKeys } from "./settings.ts";

export interface TemplateChoices {
  /** What stands at the head of the file, a line each. */
  heading: readonly string[];
  /** Values to set, by the key's path: `engine.threads`. */
  values: ReadonlyMap<string, unknown>;
  models: readonly { name: string; type: string; source: string }[];
}

export function configTemplate({ heading, values, models }: TemplateChoices): string {
  const keys = nodeKeys();
  const sections = [...new Set(keys.map(({ path }) => sectionOf(path)))];
  const ofNode = sections.map((section) => {
    const own = keys.filter(({ path }) => sectionOf(path) === section);
    const lines = own.map((key) => entry(key, values.get(key.path.join("."))));
    return [...(section === "" ? [] : [`[${section}]`]), ...lines].join("\n");
  });
  const ofModels = models.map((model) => {
    const given = new Map<string, unknown>(Object.entries(model));
    const lines = modelKeys().map((key) => entry(key, given.get(key.path.join("."))));
    return ["[[models]]", ...lines].join("\n");
  });
  const head = heading.map((line) => `# ${line}`).join("\n");
  return `${[head, ...ofNode, ...ofModels].join("\n\n")}\n`;
}

const sectionOf = (path: readonly string[]): string => path.slice(0, -1).join(".");

/** The key's meaning, and its value: set where one was chosen, else behind a `#`. */
function entry(key: DescribedKey, chosen: unknown): string {
  const name = key.path.at(-1) ?? "";
  const isFree = key.choices.length === 0 || typeof key.default === "boolean";
  const isNamed = key.choices.every((choice) => key.description.includes(`\`${choice}\``));
  const allowed = isFree || isNamed ? "" : ` One of: ${key.choices.join(", ")}.`;
  const meaning = `# ${key.description}${allowed}`;
  if (chosen !== undefined) return `${meaning}\n${toLine(name, chosen)}`;
  if (key.default !== undefined) return `${meaning}\n# ${toLine(name, key.default)}`;
  return `${meaning}\n# ${name} = "…"   # default: ${key.defaultInWords ?? "none"}`;
}

const toLine = (name: string, value: unknown): string => stringify({ [name]: value }).trim();
