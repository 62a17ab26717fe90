import { describe, expect, test } from "bun:test";
import { parseNpmReference } from "../../../../../src/models/sources/npm/fetch-package.ts";

describe("a file of a package", () => {
  test.each([
    ["npm:weights@1.0.2/model.gguf", "weights", "1.0.2", "model.gguf"],
    ["npm:@made/w.x@0.1.0-rc.1/dist/a b.gguf", "@made/w.x", "0.1.0-rc.1", "dist/a b.gguf"],
  ])("is read from '%s'", (source, name, version, file) => {
    expect(parseNpmReference(source)).toEqual({ package: name, version, file });
  });

  test.each([
    "npm:weights/model.gguf",
    "npm:weights@latest/model.gguf",
    "npm:weights@^1.0.0/model.gguf",
    "npm:weights@1.0.0",
    "npm:weights@1.0.0/",
    "npm:weights@1.0.0/../up.gguf",
    "npm:weights@1.0.0/a//b.gguf",
    "npm:../weights@1.0.0/model.gguf",
    "npm:@a/b/c@1.0.0/model.gguf",
  ])("is not read from '%s'", (source) => {
    expect(() => parseNpmReference(source)).toThrow("no file of a package");
  });
});
