import { expect, test } from "bun:test";
import { parse } from "smol-toml";
import { loadConfig } from "../../../src/config/load.ts";
import { configTemplate, modelKeys, nodeKeys } from "../../../src/config/settings.ts";

const load = (text: string) =>
  loadConfig({ file: { path: "paddock.toml", text }, env: {}, flags: {} });
const defaults = loadConfig({ env: {}, flags: {} });
/** With sections, the models folder is not served unless the file says so. */
const withSections = {
  ...defaults,
  models_folder: { ...defaults.models_folder, serve: "none" as const },
};
const models = defaults.models.map(({ name, type, source }) => ({ name, type, source }));

test("a template that sets nothing is the default configuration", () => {
  const text = configTemplate({ heading: ["Mine"], values: new Map(), models });
  expect(text).toStartWith("# Mine\n\n");
  expect(load(text)).toEqual(withSections);
});

test("a template says every key, once for the node and once for each model", () => {
  const text = configTemplate({ heading: [], values: new Map(), models });
  const said = text.match(/^(# )?\w+ = /gm) ?? [];
  expect(said).toHaveLength(nodeKeys().length + modelKeys().length * models.length);
});

test("what was chosen is set, and the rest stays as it is", () => {
  const values = new Map<string, unknown>([
    ["port", 9000],
    ["engine.threads", 3],
    ["auth.api_keys", ['a "quoted" key']],
  ]);
  const text = configTemplate({ heading: [], values, models });
  expect(load(text)).toEqual({
    ...withSections,
    port: 9000,
    auth: { ...defaults.auth, api_keys: ['a "quoted" key'] },
    engine: { ...defaults.engine, threads: 3 },
  });
});

test("a key's # may be taken away, and its value is the one it had anyway", () => {
  const text = configTemplate({ heading: [], values: new Map(), models });
  const opened = text.replace(/^# (\w+ = (?!"?…).*)$/gm, "$1");
  expect(parse(opened)).not.toEqual(parse(text));
  expect(load(opened)).toEqual(withSections);
});
