import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../src/core/errors.ts";
import { isEventStream, jsonLines } from "../../../src/server/event-format.ts";
import { streamOf } from "../../support/stream-of.ts";

const quiet = { onCancel: () => {}, onError: () => {} };

/** Frames that come when the gate opens. */
async function* gated(gate: Promise<void>, ...frames: string[]): AsyncGenerator<string> {
  await gate;
  yield* frames;
}

describe("a stream that waits for its first frame", () => {
  test("is kept alive with comments, which are no data", async () => {
    const gate = Promise.withResolvers<void>();
    const response = await streamOf(gated(gate.promise, "one"), { ...quiet, keepAliveMs: 1 });
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    const read = async (): Promise<string> => decoder.decode((await reader?.read())?.value);
    expect(await read()).toBe(": waiting\n\n");
    expect(await read()).toBe(": waiting\n\n");
    gate.resolve();
    const rest: string[] = [];
    for (let text = await read(); text !== ""; text = await read()) rest.push(text);
    expect(rest.filter((text) => text.startsWith("data"))).toEqual([
      "data: one\n\n",
      "data: [DONE]\n\n",
    ]);
  });

  test("is kept alive with spaces where its events are lines, which stay JSON", async () => {
    const gate = Promise.withResolvers<void>();
    const format = jsonLines(({ message }) => ({ error: message }));
    const frames = gated(gate.promise, '{"a":1}', '{"b":2}');
    const response = await streamOf(frames, { ...quiet, format, keepAliveMs: 1 });
    expect(isEventStream(response)).toBe(true);
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    const read = async (): Promise<string> => decoder.decode((await reader?.read())?.value);
    let all = await read();
    expect(all).toBe(" ");
    gate.resolve();
    for (let text = await read(); text !== ""; text = await read()) all += text;
    const lines = all.split("\n");
    expect(lines.pop()).toBe("");
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test("ends with a line that has the error where its events are lines", async () => {
    const gate = Promise.withResolvers<void>();
    const format = jsonLines(({ message }) => ({ error: message }));
    const response = await streamOf(gated(gate.promise), { ...quiet, format, keepAliveMs: 1 });
    gate.reject(new NodeError("timeout", "Too late."));
    expect((await response.text()).trimStart()).toBe('{"error":"Too late."}\n');
  });

  test("ends with an error frame when the wait ends in a failure", async () => {
    const gate = Promise.withResolvers<void>();
    const response = await streamOf(gated(gate.promise), { ...quiet, keepAliveMs: 1 });
    expect(response.status).toBe(200);
    gate.reject(new NodeError("timeout", "Too late."));
    const frames = (await response.text())
      .split("\n\n")
      .filter((frame) => frame.startsWith("data"));
    expect(frames).toEqual([expect.stringContaining('"code":"request_timeout"')]);
  });

  test("tells its end once, however it ends", async () => {
    const ends: string[] = [];
    const onEnd = (name: string) => () => void ends.push(name);
    const whole = await streamOf(gated(Promise.resolve(), "a"), {
      ...quiet,
      onEnd: onEnd("whole"),
    });
    await whole.text();
    const left = await streamOf(gated(Promise.resolve(), "a"), {
      ...quiet,
      onEnd: onEnd("left"),
    });
    await left.body?.cancel();
    const failing = gated(Promise.reject(new Error("early")));
    await streamOf(failing, { ...quiet, onEnd: onEnd("failed") }).catch(() => {});
    expect(ends).toEqual(["whole", "left", "failed"]);
  });
});
