import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatModel } from "../../src/core/models/model.ts";
import type { GenerationEvent, GenerationRequest } from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { neutralSettings, places, tinyChatModel } from "../support/tiny-engines.ts";
import { waitFor } from "../support/wait-for.ts";

const parallel = 4;
const [contextSize, batchSize] = [1024, 64];
/** The end token is banned, so that an answer is as long as it may be. */
const ask = (content: string, maxTokens: number): GenerationRequest => ({
  messages: [{ role: "user", content }],
  maxTokens,
  sampling: greedy,
  logitBias: new Map([[2, -100]]),
});

describe.each(places)("callers of one model in %s", (place) => {
  let model: ChatModel;
  beforeAll(async () => {
    const settings = { ...neutralSettings, ctxSize: contextSize, batchSize };
    model = await tinyChatModel({ parallel, settings }, place);
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });

  const generate = (
    content: string,
    maxTokens: number,
    signal = new AbortController().signal,
  ): AsyncIterator<GenerationEvent> =>
    model.engine.generate(ask(content, maxTokens), { signal })[Symbol.asyncIterator]();

  const textOf = async (
    content: string,
    maxTokens: number,
    signal?: AbortSignal,
  ): Promise<string> => {
    let text = "";
    const events = generate(content, maxTokens, signal);
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      if (next.value.type === "text") text += next.value.text;
    }
    return text;
  };

  /** An answer that is read as fast as it comes, until it is complete or its reader leaves. */
  function running(content: string, signal: AbortSignal) {
    const state = { events: 0, complete: false };
    const read = async (): Promise<void> => {
      const events = generate(content, 900, signal);
      while ((await events.next()).done !== true) state.events++;
      state.complete = true;
    };
    const ended = read().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return { state, ended };
  }

  /** Answers that have begun, and run on for long unless they are ended. */
  async function runningAnswers() {
    const leave = new AbortController();
    const answers = Array.from({ length: parallel - 1 }, (_, at) =>
      running(`runs ${at}`, leave.signal),
    );
    const states = answers.map(({ state }) => state);
    await waitFor("the answers to begin", () => states.every(({ events }) => events > 2));
    const end = async (): Promise<void> => {
      leave.abort();
      await Promise.all(answers.map(({ ended }) => ended));
    };
    return { states, end };
  }

  const useEverySlot = async (): Promise<void> => {
    const texts = Array.from({ length: parallel }, (_, at) => textOf(`used before ${at}`, 8));
    await Promise.all(texts);
  };

  test("get their first token beside answers that run, also on a slot that was used before", async () => {
    await useEverySlot();
    const answers = await runningAnswers();
    const late = generate("somebody new", 4);
    await late.next();
    expect(answers.states.map(({ complete }) => complete)).toEqual([false, false, false]);
    await late.return?.();
    await answers.end();
  });

  test("with a long prompt neither starve the answers beside it nor wait for them to end", async () => {
    const answers = await runningAnswers();
    const before = answers.states.map(({ events }) => events);
    const long = generate(`long ${"z".repeat(800)}`, 1);
    await long.next();
    const during = answers.states.map(({ events }, at) => events - (before[at] ?? 0));
    await long.return?.();
    await answers.end();
    // 800 tokens in batches of 64 are 13 steps at the least, in pieces of 16 they are 50. The answers have
    // a step after two of them; some of their tokens make no text, or are read together.
    for (const events of during) {
      expect(events).toBeGreaterThanOrEqual(3);
      expect(events).toBeLessThanOrEqual(50 + 64);
    }
  });

  test("have their first token one after the other when several long prompts come at once", async () => {
    const [begun, order]: [number[], number[]] = [[], []];
    const prompts = Array.from({ length: 3 }, async (_, at) => {
      const request = ask(`${at} ${"abcdefghij"[at]?.repeat(700)}`, 400);
      const options = { signal: new AbortController().signal, onStart: () => begun.push(at) };
      const events = model.engine.generate(request, options)[Symbol.asyncIterator]();
      await events.next();
      order.push(at);
      return events;
    });
    for (const events of await Promise.all(prompts)) await events.return?.();
    expect(order.toSorted()).toEqual([0, 1, 2]);
    // In the order that they were begun in: where the machine is busy, the second may be ready first.
    expect(order).toEqual(begun);
  });

  test("do not wait for a reader that stalls, which finds the rest of its answer later", async () => {
    // More than may be on the way to a reader.
    const tokens = 120;
    const whole = await textOf("stall", tokens);
    const stalled = generate("stall", tokens);
    const first = await stalled.next();
    expect(await textOf("others", tokens)).not.toBe("");
    let text = first.value?.type === "text" ? first.value.text : "";
    for (let next = await stalled.next(); next.done !== true; next = await stalled.next()) {
      if (next.value.type === "text") text += next.value.text;
    }
    expect(text).toBe(whole);
  });

  test("may leave at every point, and leave nothing behind", async () => {
    const alone = await textOf("stays", 40);
    for (let turns = 0; turns < 40; turns += 3) {
      const leave = new AbortController();
      const others = [textOf("stays", 40), textOf("stays too", 40)];
      const left = [
        textOf(`leaves ${"p".repeat(200)}`, 200, leave.signal),
        // Copies what the first is about to evaluate.
        textOf(`leaves ${"p".repeat(200)} as well`, 200, leave.signal),
        // Waits in the queue.
        textOf("leaves the queue", 200, leave.signal),
      ].map(rejectionOf);
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      leave.abort(new Error("gone"));
      for (const reason of await Promise.all(left)) {
        expect(String(reason)).toContain("gone");
      }
      expect((await Promise.all(others))[0]).toBe(alone);
    }
    // Every slot is free again.
    const after = Array.from({ length: parallel }, (_, at) => textOf(`after ${at}`, 8));
    expect(await Promise.all(after)).toHaveLength(parallel);
  });

  // The last one: for a minute after it, one caller does not get all slots.
  test("have long conversations written as prompts in turn", async () => {
    const { signal } = new AbortController();
    const messages = Array.from({ length: 999 }, (_, at) => ({
      role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: "x",
    }));
    const answer = (request: GenerationRequest, caller: string) =>
      Array.fromAsync(model.engine.generate(request, { signal, caller }));
    const from = performance.now();
    const long = Array.from({ length: 20 }, () =>
      rejectionOf(answer({ ...ask("", 1), messages }, "ada")),
    );
    await answer(ask("short", 1), "grace");
    const waited = performance.now() - from;
    await Promise.all(long);
    expect(waited).toBeLessThan((performance.now() - from) / 2);
  });
});

test("a long prompt with a seed is evaluated as when it is alone, also beside an answer", async () => {
  const settings = { ...neutralSettings, ctxSize: 4096, batchSize: 512 };
  await using model = await tinyChatModel({ parallel: 2, settings });
  const { signal } = new AbortController();
  // After whole batches it has fewer tokens left than flash attention takes at once: others round differently.
  const long = { ...ask("z".repeat(1045), 1), seed: 3, topLogprobs: 5 };
  const first = () => Array.fromAsync(model.engine.generate(long, { signal }));
  const alone = await first();
  const running = model.engine.generate(ask("runs", 2000), { signal })[Symbol.asyncIterator]();
  await running.next();
  const beside = await first();
  await running.return?.();
  expect(beside).toEqual(alone);
});
