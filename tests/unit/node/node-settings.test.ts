import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../src/config/load.ts";
import { defaultMinP, starterMinP } from "../../../src/core/models/default-min-p.ts";
import { toModelSpec } from "../../../src/node/node-settings.ts";

function minPOf(lines: string): number | undefined {
  const text = `[[models]]\nname = "m"\ntype = "chat"\n${lines}\n`;
  const [model] = loadConfig({ file: { path: "c.toml", text }, env: {}, flags: {} }).models;
  return model && toModelSpec(model, "/m.gguf").settings.minP;
}

describe("min_p of a model", () => {
  test("is llama-server's where nothing is said", () => {
    expect(minPOf('source = "./m.gguf"')).toBe(defaultMinP);
  });

  test("is a measured one for the starter chat model", () => {
    expect(minPOf('source = "starter:chat"')).toBe(starterMinP);
  });

  test.each([0, 0.3])("is what the configuration says, for the starter model too: %p", (value) => {
    expect(minPOf(`source = "starter:chat"\nmin_p = ${value}`)).toBe(value);
    expect(minPOf(`source = "./m.gguf"\nmin_p = ${value}`)).toBe(value);
  });
});
