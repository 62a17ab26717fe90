import { describe, expect, test } from "bun:test";
import {
  type TokenizeRequest,
  toTokenizeResult,
  toTokenizerInput,
} from "../../../../src/server/operations/tokenize.ts";

const model = "chatty";
const messages = [{ role: "user", content: "Hello" }] satisfies TokenizeRequest["messages"];

describe("what is to be tokenised", () => {
  test("is vLLM's prompt, with what the model wants around it", () => {
    expect(toTokenizerInput({ model, prompt: "Hello" })).toEqual({
      field: "prompt",
      input: { text: "Hello", addSpecial: true, parseSpecial: true },
    });
  });

  test("is llama-server's content, without that", () => {
    expect(toTokenizerInput({ model, content: "Hello" })).toEqual({
      field: "content",
      input: { text: "Hello", addSpecial: false, parseSpecial: true },
    });
  });

  test.each([
    [{ add_special_tokens: false }, { addSpecial: false }],
    [{ add_special: false }, { addSpecial: false }],
    [{ add_special: false, add_special_tokens: false }, { addSpecial: false }],
    [{ parse_special: false }, { parseSpecial: false }],
    [{ return_token_strs: true }, { pieces: "vocabulary" }],
    [{ with_pieces: true }, { pieces: "text" }],
  ] satisfies [Partial<TokenizeRequest>, object][])("is changed by %j", (rest, changed) => {
    expect(toTokenizerInput({ model, prompt: "Hello", ...rest }).input).toMatchObject(changed);
  });

  test("is a conversation, with its tools", () => {
    const tools = [{ type: "function", function: { name: "look_up" } }] as const;
    expect(toTokenizerInput({ model, messages, tools: [...tools] })).toEqual({
      field: "messages",
      input: { messages: [{ role: "user", content: "Hello" }], tools: [{ name: "look_up" }] },
    });
  });

  test.each([
    [{}, "prompt"],
    [{ prompt: "a", content: "b" }, "content"],
    [{ prompt: "a", messages }, "messages"],
    [{ prompt: "a", tools: [] }, "tools"],
    [{ prompt: "a", add_special: true, add_special_tokens: false }, "add_special"],
    [{ prompt: "a", return_token_strs: true, with_pieces: true }, "with_pieces"],
    [{ messages, add_generation_prompt: false }, "add_generation_prompt"],
    [{ messages, add_special_tokens: true }, "add_special_tokens"],
    [{ messages, parse_special: false }, "parse_special"],
  ] satisfies [Partial<TokenizeRequest>, string][])("is refused where it is %j", (rest, param) => {
    expect(() => toTokenizerInput({ model, ...rest })).toThrow(expect.objectContaining({ param }));
  });
});

describe("the tokens of a text", () => {
  const tokens = Uint32Array.of(5, 6);
  const input = { text: "", addSpecial: true, parseSpecial: true };

  test("are ids", () => {
    expect(toTokenizeResult({ tokens }, { input, contextSize: 64 })).toEqual({
      count: 2,
      max_model_len: 64,
      tokens: [5, 6],
      token_strs: null,
    });
  });

  test("come with what the vocabulary writes, in a list of their own", () => {
    const written = { tokens, pieces: ["<0xC3>", "a"] };
    const asked = { input: { ...input, pieces: "vocabulary" as const }, contextSize: 64 };
    expect(toTokenizeResult(written, asked)).toMatchObject({
      tokens: [5, 6],
      token_strs: ["<0xC3>", "a"],
    });
  });

  test("come with what they stand for, as llama-server has it", () => {
    const written = { tokens, pieces: [[0xc3], "a"] };
    const asked = { input: { ...input, pieces: "text" as const }, contextSize: 64 };
    expect(toTokenizeResult(written, asked).tokens).toEqual([
      { id: 5, piece: [0xc3] },
      { id: 6, piece: "a" },
    ]);
  });
});
