import { expect, test } from "bun:test";
import fc from "fast-check";
import { answerBounds, boundedEventData } from "../../../../src/gateway/upstream/chat-stream.ts";
import { rejectionOf } from "../../../support/rejection.ts";

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

const read = async (bytes: AsyncIterable<Uint8Array>): Promise<string[]> =>
  (await Array.fromAsync(boundedEventData(bytes, answerBounds(1_000_000)))).flat();

test("events are the same wherever their bytes are cut", async () => {
  const text = ': ping\n\ndata: {"text":"é😀"}\r\n\r\nid: 1\ndata: a\ndata: b\n\ndata: [DONE]';
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }), async (sizes) => {
      expect(await read(cut(text, sizes))).toEqual(['{"text":"é😀"}', "a\nb", "[DONE]"]);
    }),
  );
});

test.each([
  ["a text", undefined, 2],
  ["a text with its log probabilities", 0, 9],
])("an event that never ends is given up where it is longer than %s", async (_, top, mebibytes) => {
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    const piece = new TextEncoder().encode("x".repeat(1 << 20));
    yield new TextEncoder().encode("data: ");
    for (; ; sent++) yield piece;
  }
  const reading = Array.fromAsync(boundedEventData(endless(), answerBounds(1_000_000, top)));
  expect(await rejectionOf(reading)).toMatchObject({
    message: "an event that is longer than any answer",
  });
  expect(sent).toBeLessThan(mebibytes);
});

test("many events together may be as long as they like", async () => {
  const event = new TextEncoder().encode(`data: ${"x".repeat(1 << 20)}\n\n`);
  async function* long(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 20; count++) yield event;
  }
  expect(await read(long())).toHaveLength(20);
});

test("an answer has a bound also where its server claims a context without one", async () => {
  const event = new TextEncoder().encode(`data: ${"x".repeat(1 << 20)}\n\n`);
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; sent < 200; sent++) yield event;
  }
  const reading = async (): Promise<void> => {
    for await (const _ of boundedEventData(endless(), answerBounds(2 ** 24, 20)));
  };
  expect(await rejectionOf(reading())).toMatchObject({ message: "more than was asked for" });
  expect(sent).toBe(127);
});
