/** The configuration's keys as the schema describes them, for people: the handbook, `paddock init`, completions. */
import { KindGuard, type TSchema } from "@sinclair/typebox";
import { given } from "../core/given.ts";
import { ModelConfig } from "./model-schema.ts";
import { Config } from "./schema.ts";
import { settings } from "./settings.ts";

export interface DescribedKey {
  /** From the root: `["vectorstore", "url"]`. */
  path: readonly string[];
  description: string;
  /** Absent where there is none. */
  default?: unknown;
  /** What a person reads where the default is absent, or too long to show. */
  defaultInWords?: string;
  /** Whether it must be given. */
  isRequired: boolean;
  /** The values it may have, where they are few enough to name. */
  choices: readonly string[];
  /** The least and the most, where it has both. */
  range?: readonly [number, number];
  /** Its environment variable. */
  env?: string;
  /** Its command-line option, without the dashes. */
  flag?: string;
}

/** Every key of the node, except those of its models. */
export const nodeKeys = (): DescribedKey[] =>
  keysOf(Config, []).filter(({ path }) => path[0] !== "models");

/** Every key of a `[[models]]` section. */
export const modelKeys = (): DescribedKey[] => keysOf(ModelConfig, []);

/** The values that the setting at a path may have, where they can be named. */
export function choicesAt(path: readonly string[]): readonly string[] {
  let schema: TSchema | undefined = Config;
  for (const name of path) {
    schema = KindGuard.IsObject(schema) ? schema.properties[name] : undefined;
    if (schema === undefined) return [];
  }
  return choicesOf(schema);
}

function keysOf(schema: TSchema, path: readonly string[]): DescribedKey[] {
  if (KindGuard.IsObject(schema)) {
    return Object.entries(schema.properties).flatMap(([name, inner]) =>
      keysOf(inner, [...path, name]),
    );
  }
  const setting = settings.find((known) => known.path.join(".") === path.join("."));
  const { minimum, maximum, "x-default": defaultInWords, description = "" } = schema;
  return [
    {
      path,
      description,
      isRequired: schema.default === undefined && !KindGuard.IsOptional(schema),
      choices: choicesOf(schema),
      ...given({ default: schema.default, env: setting?.env, flag: setting?.flag }),
      ...(typeof defaultInWords === "string" ? { defaultInWords } : {}),
      ...(typeof minimum === "number" && typeof maximum === "number"
        ? { range: [minimum, maximum] }
        : {}),
    },
  ];
}

function choicesOf(schema: TSchema): readonly string[] {
  if (KindGuard.IsBoolean(schema)) return ["true", "false"];
  // A number or `auto` is no choice between names.
  if (!KindGuard.IsUnion(schema) || !schema.anyOf.every((one) => KindGuard.IsLiteral(one)))
    return [];
  return schema.anyOf.flatMap((one) => (KindGuard.IsLiteral(one) ? [String(one.const)] : []));
}
