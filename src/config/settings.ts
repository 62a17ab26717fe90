/** Lists the schema's configuration keys with their variables and options; writes a template. */
import { KindGuard, type TSchema } from "@sinclair/typebox";
import { stringify } from "smol-toml";
import { given } from "../core/given.ts";
import { ModelConfig } from "./model-schema.ts";
import { Config } from "./schema.ts";

export interface DescribedKey {
  /** From the root: `["vectorstore", "url"]`. */
  path: readonly string[];
  description: string;
  default?: unknown;
  /** Shown to people if the default is absent or too long. */
  defaultInWords?: string;
  isRequired: boolean;
  choices: readonly string[];
  range?: readonly [number, number];
  env?: string;
  /** Its option, without the dashes. Secrets have none, since process lists show options. */
  flag?: string;
  /** Turns the text of a variable or an option into the value that the schema checks. */
  parse: (text: string) => unknown;
}

/** A key that can be set by a variable and, unless it is a secret, by an option. */
export type Setting = DescribedKey & { env: string };

/** Every key of the node, except those of its models. */
export const nodeKeys = (): DescribedKey[] =>
  keysOf(Config, []).filter(({ path }) => path[0] !== "models");

export const modelKeys = (): DescribedKey[] => keysOf(ModelConfig, []);

export const settings: readonly Setting[] = nodeKeys().flatMap(({ env, ...key }) =>
  env === undefined ? [] : [{ ...key, env }],
);

export function helpOf({ description }: DescribedKey): string {
  const [first = ""] = description.split(/\.(?: |$)/);
  return `${first.charAt(0).toLowerCase()}${first.slice(1)}`.replaceAll("`", "'");
}

export const valueAt = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce(
    (value, key) =>
      typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined,
    tree,
  );

/** Whether the value at a path, or one of the keys directly under it, may be a secret. */
export function mayHoldSecret(path: readonly (string | number)[]): boolean {
  const schemas: TSchema[] = [Config];
  for (const part of path) {
    const schema = schemas.at(-1);
    const inner = KindGuard.IsArray(schema)
      ? schema.items
      : KindGuard.IsObject(schema)
        ? schema.properties[part]
        : undefined;
    if (inner === undefined) break;
    schemas.push(inner);
  }
  const last = schemas.at(-1);
  const under = KindGuard.IsObject(last) ? Object.values(last.properties) : [];
  return [...schemas, ...under].some((schema) => schema["x-secret"] ?? schema["x-hidden"] ?? false);
}

function keysOf(schema: TSchema, path: readonly string[]): DescribedKey[] {
  if (KindGuard.IsObject(schema)) {
    return Object.entries(schema.properties).flatMap(([name, inner]) =>
      keysOf(inner, [...path, name]),
    );
  }
  const { minimum, maximum, description = "", default: value } = schema;
  const defaultInWords: string | undefined = schema["x-default"];
  const name: string | undefined = schema["x-setting"];
  const hasRange = minimum !== undefined && maximum !== undefined;
  return [
    {
      path,
      description,
      isRequired: value === undefined && !KindGuard.IsOptional(schema),
      choices: choicesOf(schema),
      parse: parserOf(schema),
      ...given({
        default: value,
        defaultInWords,
        env: name && `PADDOCK_${name.toUpperCase().replaceAll("-", "_")}`,
        flag: schema["x-secret"] === true ? undefined : name,
      }),
      ...(hasRange ? { range: [minimum, maximum] } : {}),
    },
  ];
}

function choicesOf(schema: TSchema): readonly string[] {
  if (KindGuard.IsBoolean(schema)) return ["true", "false"];
  // A number or `auto` is not a list of choices.
  if (!KindGuard.IsUnion(schema) || !schema.anyOf.every((one) => KindGuard.IsLiteral(one)))
    return [];
  return schema.anyOf.flatMap((one) => (KindGuard.IsLiteral(one) ? [String(one.const)] : []));
}

function parserOf(schema: TSchema): DescribedKey["parse"] {
  if (KindGuard.IsInteger(schema) || KindGuard.IsNumber(schema)) return asNumber;
  if (KindGuard.IsBoolean(schema)) return asBoolean;
  return KindGuard.IsArray(schema) ? asList : (text) => text;
}

/** Text that is not a number stays text, for the schema to reject. */
function asNumber(text: string): unknown {
  return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
}

function asBoolean(text: string): unknown {
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : text;
}

function asList(text: string): string[] {
  const items = text.split(",").map((item) => item.trim());
  return items.filter((item) => item !== "");
}

interface TemplateChoices {
  heading: readonly string[];
  /** Values to set, by the key's path: `engine.threads`. */
  values: ReadonlyMap<string, unknown>;
  models: readonly { name: string; type: string; source: string }[];
}

/** A commented configuration file: chosen keys are set, others are comments with their defaults. */
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

/** The key's description and value: set if one was chosen, else commented out. */
function entry(key: DescribedKey, chosen: unknown): string {
  const name = key.path.at(-1) ?? "";
  const isFree = key.choices.length === 0 || key.choices.includes("true");
  const isNamed = key.choices.every((choice) => key.description.includes(`\`${choice}\``));
  const allowed = isFree || isNamed ? "" : ` One of: ${key.choices.join(", ")}.`;
  const meaning = `# ${key.description}${allowed}`;
  if (chosen !== undefined) return `${meaning}\n${toLine(name, chosen)}`;
  if (key.default !== undefined) return `${meaning}\n# ${toLine(name, key.default)}`;
  const shape = key.choices.includes("true") ? "…" : '"…"';
  return `${meaning}\n# ${name} = ${shape}   # default: ${key.defaultInWords ?? "none"}`;
}

const toLine = (name: string, value: unknown): string => stringify({ [name]: value }).trim();
