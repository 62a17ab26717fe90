import { expect, test } from "bun:test";
import { KindGuard, Type as T, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Config } from "../../src/config/schema.ts";
import { settings } from "../../src/config/settings.ts";
import { promptTemplateNames } from "../../src/core/models/model.ts";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { EmbeddingList } from "../../src/server/operations/embeddings.ts";
import { ModelList } from "../../src/server/operations/models/schema.ts";
import { NodeInfo } from "../../src/server/operations/node/schema.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { read } from "../support/repository-text.ts";

test("CI runs the README's test command exactly as the README gives it", async () => {
  const [, command] = /\*\*Test it:\*\*\n\n```sh\n(.*)\n```/.exec(await read("README.md")) ?? [];
  expect(command).toContain("run test");
  expect((await read(".ci/run")).split("\n")).toContain(command ?? "");
});

/** A schema of any part of an answer: what is shown has to be right, and need not be all. */
const partOf = (schema: TSchema): TSchema => {
  if (KindGuard.IsObject(schema)) {
    const properties = Object.entries(schema.properties).map(([key, inner]) => [
      key,
      partOf(inner),
    ]);
    return T.Partial(T.Object(Object.fromEntries(properties), { additionalProperties: false }));
  }
  if (KindGuard.IsArray(schema)) return T.Array(partOf(schema.items));
  if (KindGuard.IsUnion(schema)) return T.Union(schema.anyOf.map(partOf));
  return schema;
};

test("the README shows answers, shortened, as the node gives them", async () => {
  const shown = (await read("README.md"))
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): unknown => JSON.parse(line));
  const schemas = [ChatCompletion, EmbeddingList, RetrieveResult, ModelList, NodeInfo];
  expect(shown.map((answer, at) => Value.Check(partOf(schemas[at] ?? T.Never()), answer))).toEqual(
    schemas.map(() => true),
  );
});

test("the README's commands bring the Bun that the types are for", async () => {
  const { devDependencies } = JSON.parse(await read("package.json"));
  const versions = (await read("README.md")).match(/bun@[\d.]+/g);
  expect(new Set(versions)).toEqual(new Set([`bun@${devDependencies["bun-types"]}`]));
});

test("the handbook's configuration page has every key, variable and option", async () => {
  const page = await read("docs/configuration.md");
  const { models, ...node } = Config.properties;
  const keysOf = (schema: TSchema, name: string): string[] =>
    KindGuard.IsObject(schema)
      ? Object.entries(schema.properties).flatMap(([key, inner]) => keysOf(inner, `${name}.${key}`))
      : [name];
  const keys = Object.entries(node).flatMap(([name, schema]) => keysOf(schema, name));
  const names = [...keys, ...Object.keys(models.items.properties)];
  const given = settings.flatMap(({ env, flag }) => [env, ...(flag ? [`--${flag}`] : [])]);
  const missing = [...names, ...given].filter((name) => !page.includes(`\`${name}\``));
  expect(missing).toEqual([]);
});

test("the handbook's page on models has every prompt template", async () => {
  const page = await read("docs/models.md");
  expect(
    promptTemplateNames.filter((name) => !page.includes(`\`${name}\``) && name !== "auto"),
  ).toEqual([]);
});
