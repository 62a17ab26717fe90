import { describe, expect, test } from "bun:test";
import { librariesIn } from "../../../../src/engine/native/c-interface.ts";

const mapsOf = (...files: string[]): string =>
  files
    .map((file) => `7f3c00000000-7f3c00010000 r-xp 00000000 fe:00 42   /opt/bins/${file}\n`)
    .join("7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0   [stack]\n");

describe("llama.cpp's libraries in a process", () => {
  test.each([
    ["the CPU's", ["llama.v0.5.0", "ggml.v0.5.0", "ggml-base"]],
    ["CUDA's", ["llama.cuda.v0.5.0", "ggml.cuda.v0.5.0", "ggml-base"]],
    ["of an own build", ["llama", "ggml", "ggml-base"]],
  ])("are found by their names: %s", (_, names) => {
    const others = ["libggml-cpu-icelake.so", "libggml-cuda.so", "libllama-common.so"];
    const files = [...others, ...names.map((name) => `lib${name}.so`)];
    const found = librariesIn(mapsOf(...files));
    expect(found).toEqual(names.map((name) => ({ name, folder: "/opt/bins" })));
  });

  test("are missed by name", () => {
    expect(() => librariesIn(mapsOf("libllama.v0.5.0.so"))).toThrow("libggml is not loaded");
  });
});
