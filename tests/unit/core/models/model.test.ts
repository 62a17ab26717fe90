import { expect, test } from "bun:test";
import { settledSettings } from "../../../../src/core/models/model.ts";
import { neutralSettings } from "../../../support/neutral-settings.ts";

const wanted = { ctxSize: "auto", batchSize: "auto", nGpuLayers: "auto" } as const;

test("what was chosen once stays, and what was given stays given", () => {
  const { ctxSize, batchSize, nGpuLayers, ...rest } = neutralSettings;
  const chosen = { ctxSize: 8192, batchSize: 512, nGpuLayers: 12 };
  expect(settledSettings({ ...rest, ...wanted }, chosen)).toEqual({ ...rest, ...chosen });
  const given = { ctxSize: 0, batchSize: 64, nGpuLayers: 0 };
  expect(settledSettings({ ...rest, ...given }, chosen)).toEqual({ ...rest, ...given });
});
