import { describe, expect, test } from "bun:test";
import { type GpuSituation, unusedGpuReasons } from "../../../../src/engine/machine/unused-gpus.ts";

const situation: GpuSituation = {
  valid: ["cuda", "vulkan", false],
  supported: ["vulkan", false],
  loaded: false,
  accelerator: true,
};

describe("a GPU that is not used", () => {
  test("is one that no model asks for", () => {
    const reason = "no model asks for it: n_gpu_layers is 0";
    expect(unusedGpuReasons({ ...situation, accelerator: false })).toEqual({
      cuda_not_used: reason,
      vulkan_not_used: reason,
    });
  });

  test("is one that the machine does not have, or whose libraries are missing", () => {
    expect(unusedGpuReasons(situation)).toEqual({
      cuda_not_used: "this machine has no device or driver for it",
      vulkan_not_used: "its libraries are not installed or do not load",
    });
  });

  test("is one beside the one that is", () => {
    expect(unusedGpuReasons({ ...situation, loaded: "cuda" })).toEqual({
      vulkan_not_used: "cuda is used",
    });
  });
});
