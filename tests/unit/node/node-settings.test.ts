import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../src/config/load.ts";
import type { ModelConfig } from "../../../src/config/model-schema.ts";
import type { Config } from "../../../src/config/schema.ts";
import {
  contextDefaults,
  samplingDefaults,
  starterSampling,
} from "../../../src/core/models/model.ts";
import { toModelBounds, toModelSpec, toQuantization } from "../../../src/node/node-settings.ts";

function configured(lines: string, type = "chat"): ModelConfig {
  const [model] = configOf(lines, type).models;
  if (model === undefined) throw new Error("There is no model");
  return model;
}

function configOf(lines: string, type: string): Config {
  const text = `[[models]]\nname = "m"\ntype = "${type}"\n${lines}\n`;
  return loadConfig({ file: { path: "c.toml", text }, env: {}, flags: {} });
}

function settingsOf(lines: string, type = "chat") {
  const options = { config: configOf(lines, type), baseDir: "/base" };
  return toModelSpec(configured(lines, type), "/m.gguf", options).settings;
}

test.each(["chat", "embedding"])("an upstream model of type %s is known as one", (type) => {
  const upstream = configured('source = "openai:http://127.0.0.1:8000/v1"', type);
  expect(toModelBounds(upstream)).toEqual({ name: "m", isUpstream: true });
  expect(toModelBounds(configured('source = "./m.gguf"', type)).isUpstream).toBeUndefined();
});

describe("the sampling of a model", () => {
  test("is llama-server's where nothing is said", () => {
    expect(settingsOf('source = "./m.gguf"')).toMatchObject(samplingDefaults);
  });

  test("is a measured one for the starter chat model", () => {
    expect(settingsOf('source = "starter:chat"')).toMatchObject(starterSampling);
  });

  test.each([0, 0.3])("is what the configuration says, for the starter model too: %p", (value) => {
    const said = { minP: value, dryMultiplier: value };
    for (const source of ["starter:chat", "./m.gguf"]) {
      const lines = `source = "${source}"\nmin_p = ${value}\ndry_multiplier = ${value}`;
      expect(settingsOf(lines)).toMatchObject(said);
    }
  });

  test("has a window, and DRY as it is configured", () => {
    const lines = 'source = "./m.gguf"\nrepeat_last_n = 64\ndry_base = 2\ndry_allowed_length = 4';
    const said = { repeatLastN: 64, dryBase: 2, dryAllowedLength: 4 };
    expect(settingsOf(lines)).toMatchObject(said);
  });
});

describe("the context of a model", () => {
  test("is the usual one where nothing is said, and only a chat model has it", () => {
    expect(settingsOf('source = "./m.gguf"').context).toEqual(contextDefaults);
    expect(settingsOf('source = "./m.gguf"', "embedding").context).toBeUndefined();
  });

  test("has adapters from the folder where the node is started, at full strength by default", () => {
    const lora = 'lora = [{ path = "a.gguf" }, { path = "/b.gguf", scale = -0.5 }]';
    expect(settingsOf(`source = "./m.gguf"\n${lora}`).context?.lora).toEqual([
      { path: "/base/a.gguf", scale: 1 },
      { path: "/b.gguf", scale: -0.5 },
    ]);
  });
});

describe("the quantization of a model", () => {
  const cases = [
    ['source = "./m.gguf"', undefined],
    ['source = "./m.gguf"\nquantization = "q6_k"', { type: "q6_k", inBackground: false }],
    ['source = "starter:chat"', { type: "q4_0", inBackground: false }],
    ['source = "starter:chat"\nquantization = "as-is"', undefined],
    ['source = "starter:chat"\nquantization = "q8_0"', { type: "q8_0", inBackground: false }],
    [
      'source = "./m.gguf"\nquantization = "q4_0"\ntranscode = "behind"',
      { type: "q4_0", inBackground: true },
    ],
  ] as const;
  test.each(cases)(
    "is as configured, and that of the starter model by itself: %s",
    (lines, expected) => {
      expect(toQuantization(configured(lines))).toEqual(expected);
    },
  );
});
