import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatModel } from "../../src/core/models/model.ts";
import type { GenerationEvent, GenerationRequest } from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { allPlaces, neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";

const ask = (content: string, rest: Partial<GenerationRequest> = {}): GenerationRequest => ({
  messages: [{ role: "user", content }],
  sampling: greedy,
  maxTokens: 12,
  ...rest,
});

/** The id of `</s>` in the tiny model. */
const endOfTurn = 2;
const letter = 100;

const finishOf = ({ events }: { events: GenerationEvent[] }) => {
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("The events do not end in a finish");
  return last;
};

describe.each(allPlaces)("the chat engine in %s", (place) => {
  let model: ChatModel;
  beforeAll(async () => {
    model = await tinyChatModel({}, place);
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });

  async function run(
    request: GenerationRequest,
    signal = new AbortController().signal,
  ): Promise<{ text: string; events: GenerationEvent[] }> {
    const events = await Array.fromAsync(model.engine.generate(request, { signal }));
    const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
    return { text, events };
  }

  test("says once that a request leaves the queue, before its first event", async () => {
    const heard: string[] = [];
    const options = { signal: new AbortController().signal, onStart: () => heard.push("start") };
    for await (const { type } of model.engine.generate(ask("When?"), options)) heard.push(type);
    expect(heard.slice(0, 1)).toEqual(["start"]);
    expect(heard.filter((what) => what === "start")).toHaveLength(1);
  });

  // A node counts for nobody else; what counts where the server does is in tests/integration/upstream.
  test.if(place !== "another node")("counts the tokens that a prompt will have", async () => {
    const { messages } = ask("Hello");
    expect(await model.engine.countTokens(messages)).toBe(
      finishOf(await run(ask("Hello"))).usage.promptTokens,
    );
  });

  test("ends in exactly one finish, after texts that are not empty", async () => {
    const { events } = await run(ask("Hello"));
    expect(events.filter(({ type }) => type === "finish")).toHaveLength(1);
    expect(events.at(-1)?.type).toBe("finish");
    expect(events.every((event) => event.type !== "text" || event.text !== "")).toBe(true);
  });

  test("counts real tokens and stops at the most it may generate", async () => {
    const result = await run(ask("Hello", { maxTokens: 5 }));
    expect(finishOf(result)).toEqual({
      type: "finish",
      reason: "length",
      // <s>, "▁" and "<|user|>Hello" by characters, </s>, "▁" and "<|assistant|>" by characters
      usage: expect.objectContaining({ promptTokens: 30, completionTokens: 5 }),
    });
  });

  test("gives the same answer twice at temperature 0, also when its slot held the prompt before", async () => {
    const first = await run(ask("Say it again"));
    const second = await run(ask("Say it again"));
    expect(second.text).toBe(first.text);
  });

  test("gives other answers at temperature 1 than it gave before", async () => {
    const request = ask("Surprise me", { sampling: { ...greedy, temperature: 1 }, maxTokens: 24 });
    const texts = await Promise.all([run(request), run(request), run(request)]);
    expect(new Set(texts.map(({ text }) => text)).size).toBeGreaterThan(1);
  });

  test("lets top_p 0 leave only the likeliest token", async () => {
    const hot = { ...greedy, temperature: 2, topP: 0 };
    expect((await run(ask("Narrow", { sampling: hot }))).text).toBe(
      (await run(ask("Narrow"))).text,
    );
  });

  test("lets a frequency penalty break a repetition", async () => {
    // A letter that wins by far, so that the answer repeats it whatever the CPU's rounding.
    const repeat = { maxTokens: 60, logitBias: new Map([[letter, 20]]) };
    const plain = await run(ask("Repeat", repeat));
    expect(mostRepeated(plain.text)).toBe(60);
    const penalised = await run(
      ask("Repeat", { ...repeat, sampling: { ...greedy, frequencyPenalty: 2 } }),
    );
    expect(mostRepeated(penalised.text)).toBeLessThan(30);
  });

  test("lets a presence penalty of 2 and one of -2 differ", async () => {
    const withPenalty = (presencePenalty: number) =>
      run(ask("Presence", { maxTokens: 40, sampling: { ...greedy, presencePenalty } }));
    expect((await withPenalty(2)).text).not.toBe((await withPenalty(-2)).text);
  });

  test("fills the context to its last token, and ends there with length", async () => {
    // Never the end of the turn, so that only the context ends the answer.
    const request = ask("Go on", { logitBias: new Map([[endOfTurn, -100]]) });
    const { maxTokens: _, ...unbounded } = request;
    const { reason, usage } = finishOf(await run(unbounded));
    expect([reason, usage.promptTokens + usage.completionTokens]).toEqual([
      "length",
      neutralSettings.ctxSize,
    ]);
  });

  test("refuses a prompt that leaves no room, with both counts", async () => {
    expect(await rejectionOf(run(ask("x".repeat(400))))).toMatchObject({
      kind: "context_length_exceeded",
      subject: { part: "messages" },
      message: expect.stringMatching(/have 42\d tokens.*context of 256/),
    });
  });

  test("answers a prompt that is longer than a batch", async () => {
    const result = await run(ask("y".repeat(150), { maxTokens: 3 }));
    expect(finishOf(result).usage.promptTokens).toBeGreaterThan(150);
  });

  test("gives each of many requests at once the answer it gets alone", async () => {
    const questions = ["one", "two", "three", "four", "five"];
    const alone: string[] = [];
    for (const question of questions) alone.push((await run(ask(question))).text);
    const together = await Promise.all(questions.map((question) => run(ask(question))));
    expect(together.map(({ text }) => text)).toEqual(alone);
  });

  test("stops within a token when its signal is aborted, and frees the slot", async () => {
    for (let round = 0; round < 5; round++) {
      const leave = new AbortController();
      const events: GenerationEvent[] = [];
      const generation = (async () => {
        for await (const event of model.engine.generate(ask("Stop me", { maxTokens: 200 }), {
          signal: leave.signal,
        })) {
          events.push(event);
          leave.abort(new Error("gone"));
        }
      })();
      expect(await rejectionOf(generation)).toMatchObject({
        message: expect.stringContaining("gone"),
      });
      expect(events).toHaveLength(1);
    }
    expect(finishOf(await run(ask("Still there?"))).usage.completionTokens).toBeGreaterThan(0);
  });

  test("can be unloaded while it is at work", async () => {
    const other = await tinyChatModel({}, place);
    const { signal } = new AbortController();
    const answer = other.engine.generate(ask("Hold", { maxTokens: 200 }), { signal });
    const rest = async (): Promise<void> => {
      for await (const _ of answer) await other[Symbol.asyncDispose]();
    };
    expect(await rejectionOf(rest())).toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/^The (model is being unloaded|node is stopping)\b/),
    });
  });

  test("frees the slot when the reader leaves, or leaves while it waits", async () => {
    const open = await Promise.all(
      Array.from({ length: 2 }, async () => {
        const signal = new AbortController().signal;
        const iterator = model.engine
          .generate(ask("Hold", { maxTokens: 200 }), { signal })
          [Symbol.asyncIterator]();
        await iterator.next();
        return iterator;
      }),
    );
    const leave = new AbortController();
    const waiting = run(ask("Waiting"), leave.signal);
    leave.abort(new Error("left the queue"));
    expect(await rejectionOf(waiting)).toMatchObject({
      message: expect.stringContaining("left the queue"),
    });
    for (const iterator of open) await iterator.return?.();
    expect(finishOf(await run(ask("Free again"))).type).toBe("finish");
  });
});

/** How often the most frequent character occurs. */
function mostRepeated(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return Math.max(...counts.values());
}
