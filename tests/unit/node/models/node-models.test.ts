import { describe, expect, test } from "bun:test";
import { betterModel } from "../../../../src/node/models/node-models.ts";

const sources = { command: ["bun", "main.ts"] };

describe("what is said of the starter chat model", () => {
  test.each([
    [64e9, "7B"],
    [24e9, "7B"],
    [8e9, "1.5B"],
  ])("names a better one for a machine with %p bytes of memory", (memory, size) => {
    const line = betterModel({ memory }, sources);
    expect(line).toContain("is small");
    expect(line).toContain(`bun paddock pull hf:bartowski/Qwen2.5-${size}-Instruct-GGUF:Q4_K_M`);
    expect(line).not.toContain("\n");
  });

  test("names none where none fits", () => {
    expect(betterModel({ memory: 2e9 }, sources)).not.toContain("pull");
  });

  test("has the executable's own command", () => {
    const line = betterModel({ memory: 24e9 }, { command: ["/opt/paddock"] });
    expect(line).toContain(": paddock pull hf:");
  });
});
