import { describe, expect, test } from "bun:test";
import type { ChatAnswer } from "../../../../../src/core/chat/chat-service.ts";
import type { Finish, GenerationEvent } from "../../../../../src/core/ports/chat-engine.ts";
import {
  type AnswerOptions,
  inMessage,
  inResponse,
  toLines,
  toWhole,
} from "../../../../../src/server/operations/ollama/answer.ts";
import { finish } from "../../../../support/scripted-engines.ts";

const text = (value: string): GenerationEvent => ({ type: "text", text: value });
const thought = (value: string): GenerationEvent => ({ type: "reasoning", text: value });
const call = (index: number, name = "look"): GenerationEvent => ({
  ...{ type: "tool-call", index, id: `call_${index}`, name },
});
const args = (index: number, value: string): GenerationEvent => ({
  ...{ type: "tool-arguments", index, text: value },
});

const options: AnswerOptions = {
  model: "tiny:latest",
  form: inMessage,
  showsThoughts: true,
  times: () => ({ queue: 2, retrieval: 3, first: 10, total: 30 }),
};

function answerOf(events: readonly GenerationEvent[], end: Partial<Finish> = {}): ChatAnswer {
  const all = [...events, { ...finish, ...end }];
  return {
    ...{ model: "tiny", fingerprint: "fp_1", choices: 1 },
    events: (async function* () {
      for (const value of all) yield { index: 0, value };
    })(),
  };
}

async function linesOf(events: readonly GenerationEvent[], more: Partial<AnswerOptions> = {}) {
  const lines = await Array.fromAsync(toLines(answerOf(events), { ...options, ...more }));
  return lines.map((line): unknown => JSON.parse(line));
}

const head = { model: "tiny:latest", created_at: expect.stringMatching(/^\d{4}-.*Z$/) };
const message = (content: string, more = {}) => ({
  message: { role: "assistant", content, ...more },
});
const ending = {
  ...{ done: true, done_reason: "stop", total_duration: 30e6, load_duration: 2e6 },
  ...{ prompt_eval_count: 3, prompt_eval_duration: 5e6, eval_count: 2, eval_duration: 20e6 },
};
const tool_calls = [
  { id: "call_0", function: { index: 0, name: "look", arguments: { at: "sky" } } },
  { id: "call_1", function: { index: 1, name: "hear", arguments: {} } },
];

describe("a streamed answer", () => {
  test("is a line for each piece, and a last one with times in nanoseconds and counts", async () => {
    expect(await linesOf([text("Hi "), text("there")])).toEqual([
      { ...head, ...message("Hi "), done: false },
      { ...head, ...message("there"), done: false },
      { ...head, ...message(""), ...ending },
    ]);
  });

  test("has thoughts beside the text, unless they are not wanted", async () => {
    expect(await linesOf([thought("Hm"), text("Hi")])).toMatchObject([
      message("", { thinking: "Hm" }),
      message("Hi"),
      { done: true },
    ]);
    const without = await linesOf([thought("Hm"), text("Hi")], { showsThoughts: false });
    expect(without).toMatchObject([message("Hi"), { done: true }]);
    expect(without).toHaveLength(2);
  });

  test("sends each call when it is complete, with its arguments as an object", async () => {
    const events = [text("I look."), call(0), args(0, '{"at":'), args(0, '"sky"}')];
    expect(await linesOf([...events, call(1, "hear")])).toEqual([
      { ...head, ...message("I look."), done: false },
      { ...head, ...message("", { tool_calls: tool_calls.slice(0, 1) }), done: false },
      { ...head, ...message("", { tool_calls: tool_calls.slice(1) }), done: false },
      { ...head, ...message(""), ...ending },
    ]);
  });

  test("of a prompt has its pieces as `response`, and fields of the last line", async () => {
    const more = { form: inResponse, last: { context: [] } };
    expect(await linesOf([thought("Hm"), text("Hi")], more)).toEqual([
      { ...head, response: "", thinking: "Hm", done: false },
      { ...head, response: "Hi", done: false },
      { ...head, response: "", ...ending, context: [] },
    ]);
  });

  test("has log probabilities with the piece that they are of", async () => {
    const logprobs = [{ token: "Hi", logprob: -1, bytes: [72, 105], top: [] }];
    expect(await linesOf([{ type: "text", text: "Hi", logprobs }])).toMatchObject([
      { logprobs: [{ token: "Hi", logprob: -1, bytes: [72, 105], top_logprobs: [] }] },
      { done: true },
    ]);
  });

  test("fails without an end", async () => {
    const cut: ChatAnswer = { ...answerOf([]), events: (async function* () {})() };
    await expect(Array.fromAsync(toLines(cut, options))).rejects.toThrow("without a reason");
  });
});

describe("a whole answer", () => {
  const whole = (events: readonly GenerationEvent[], end: Partial<Finish> = {}) =>
    toWhole(answerOf(events, end), options);

  test("has everything in one", async () => {
    const events = [thought("H"), thought("m"), text("I "), text("look.")];
    expect(
      await whole([...events, call(0), args(0, '{"at":"sky"}'), call(1, "hear")], {
        reason: "tool_calls",
      }),
    ).toEqual({ ...head, ...message("I look.", { thinking: "Hm", tool_calls }), ...ending });
  });

  test("leaves out a call that was cut short", async () => {
    const cut = await whole([call(0), args(0, '{"at":"sky"}'), call(1), args(1, '{"a')], {
      reason: "length",
    });
    expect(cut).toEqual({
      ...{ ...head, ...message("", { tool_calls: tool_calls.slice(0, 1) }) },
      ...{ ...ending, done_reason: "length" },
    });
  });

  test("fails if a server upstream sends arguments that are not JSON", async () => {
    await expect(whole([call(0), args(0, "{")])).rejects.toMatchObject({
      kind: "upstream_failed",
    });
  });

  test("fails if a server upstream sends arguments that are nested too deep, also in a stream", async () => {
    const deep = [call(0), args(0, `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)];
    const failure = {
      kind: "upstream_failed",
      message:
        "The server that runs the model called the tool 'look' with arguments that are nested too deep or hold too much.",
    };
    await expect(whole(deep)).rejects.toMatchObject(failure);
    await expect(linesOf(deep)).rejects.toMatchObject(failure);
  });

  test("counts all of its time as the prompt's if there was no token", async () => {
    const times = () => ({ queue: undefined, retrieval: undefined, first: undefined, total: 4 });
    expect(await toWhole(answerOf([]), { ...options, times })).toMatchObject({
      ...{ total_duration: 4e6, load_duration: 0, prompt_eval_duration: 4e6, eval_duration: 0 },
    });
  });
});
