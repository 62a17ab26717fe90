import { expect, test } from "bun:test";
import { settledSettings } from "../../../../src/core/models/model.ts";

const wanted = { ctxSize: "auto", batchSize: "auto", nGpuLayers: "auto" } as const;

test("what was chosen once stays, and what was given stays given", () => {
  const rest = {
    promptTemplate: "auto",
    nPredict: -1,
    temperature: 1,
    topP: 1,
    repeatPenalty: 1,
    repeatLastN: -1,
    dryMultiplier: 0,
    dryBase: 1.75,
    dryAllowedLength: 2,
    presencePenalty: 0,
    frequencyPenalty: 0,
    minP: 0,
  } as const;
  const chosen = { ctxSize: 8192, batchSize: 512, nGpuLayers: 12 };
  expect(settledSettings({ ...rest, ...wanted }, chosen)).toEqual({ ...rest, ...chosen });
  const given = { ctxSize: 0, batchSize: 64, nGpuLayers: 0 };
  expect(settledSettings({ ...rest, ...given }, chosen)).toEqual({ ...rest, ...given });
});
