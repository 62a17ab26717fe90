import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaModel } from "node-llama-cpp";
import { type TextStream, textStream } from "../../src/engine/generation/segmenter.ts";
import { TokenBytes } from "../../src/engine/tokenizer/vocabulary.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

let model: LlamaModel;

beforeAll(async () => {
  const { llama } = await testBackend();
  const { chat } = await tinyModels();
  model = await llama.loadModel({ modelPath: chat });
});
afterAll(async () => {
  await model.dispose();
});

const newStream = (): TextStream => textStream(model, new TokenBytes(model));

describe("the text stream", () => {
  test.each(["plain", "naïve café", "日本語のテキスト", "🦙 llama 🐎", "a é 漢 🦄 z"])(
    "gives back %s from its tokens, byte tokens included",
    (text) => {
      const stream = newStream();
      const pieces = model.tokenize(text).map((token) => stream.push(token)?.text ?? "");
      expect(pieces.join("").trimStart()).toBe(text);
      expect(pieces.some((piece) => piece.includes("\uFFFD"))).toBe(false);
    },
  );

  test("holds a character back until its last byte", () => {
    const stream = newStream();
    const [first, ...rest] = model.tokenize("🦙").slice(-4);
    expect(rest).toHaveLength(3);
    const pieces = [first, ...rest].map((token) =>
      token === undefined ? "?" : (stream.push(token)?.text ?? ""),
    );
    expect(pieces).toEqual(["", "", "", "🦙"]);
  });

  test("lets bytes pass that never become a character", () => {
    const stream = newStream();
    const [byte] = model.tokenize("é").slice(-2);
    const b = model.tokenize("b").slice(-1);
    const pieces = [byte, ...b].map((token) =>
      token === undefined ? "?" : (stream.push(token)?.text ?? ""),
    );
    expect(pieces.join("")).toBe("\uFFFDb");
  });

  test("keeps the spaces between words", () => {
    const stream = newStream();
    const text = "one two  three";
    expect(
      model
        .tokenize(text)
        .map((token) => stream.push(token)?.text ?? "")
        .join("")
        .trimStart(),
    ).toBe(text);
  });
});
