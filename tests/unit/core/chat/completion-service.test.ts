import { describe, expect, test } from "bun:test";
import {
  atMost,
  type CompletionsRequest,
  complete,
} from "../../../../src/core/chat/completion-service.ts";
import { merge } from "../../../../src/core/chat/merge.ts";
import { NodeError } from "../../../../src/core/errors.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import { aborted } from "../../../support/aborted.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { finish, ScriptedChatEngine } from "../../../support/scripted-engines.ts";
import { chatModel } from "../../../support/test-models.ts";
import { waitFor } from "../../../support/wait-for.ts";

const options = { signal: new AbortController().signal };
const ask = (rest: Partial<CompletionsRequest> = {}): CompletionsRequest => ({
  model: "chatty",
  prompts: ["Once"],
  sampling: {},
  choices: 1,
  ...rest,
});

function service(): { engine: ScriptedChatEngine; models: ModelRegistry } {
  const engine = new ScriptedChatEngine();
  const models = new ModelRegistry([{ name: "chatty", type: "chat" }]);
  models.add(chatModel("chatty", engine));
  return { engine, models };
}

describe("completions", () => {
  test("fill in what the caller left open from the model's settings", async () => {
    const { engine, models } = service();
    engine.script(finish);
    await Array.fromAsync(
      complete(models, ask({ sampling: { topK: 3 }, maxTokens: 4 }), options).events,
    );
    expect(engine.completions).toEqual([
      {
        prompt: "Once",
        maxTokens: 4,
        sampling: {
          temperature: 0.7,
          topP: 0.9,
          topK: 3,
          minP: 0.08,
          presencePenalty: 0.2,
          frequencyPenalty: 0.3,
          repeatPenalty: 1.1,
          repeatLastN: -1,
          dryMultiplier: 0,
          dryBase: 1.75,
          dryAllowedLength: 2,
        },
      },
    ]);
  });

  test("number the answers of the first prompt first, each with the next seed", async () => {
    const { engine, models } = service();
    for (const text of ["a", "b", "c", "d"]) engine.script({ type: "text", text }, finish);
    const answer = complete(
      models,
      ask({ prompts: ["Once", [1, 2]], choices: 2, seed: 5 }),
      options,
    );
    expect(answer.choices).toBe(4);
    const events = await Array.fromAsync(answer.events);
    const texts = events.flatMap(({ index, value }) =>
      value.type === "text" ? [[index, value.text]] : [],
    );
    expect(Object.fromEntries(texts)).toEqual({ 0: "a", 1: "b", 2: "c", 3: "d" });
    expect(engine.completions.map(({ prompt, seed }) => ({ prompt, seed }))).toEqual([
      { prompt: "Once", seed: 5 },
      { prompt: "Once", seed: 6 },
      { prompt: [1, 2], seed: 5 },
      { prompt: [1, 2], seed: 6 },
    ]);
  });

  test("name the prompt that is at fault, where there are several", async () => {
    const fault = new NodeError("invalid_request", "The prompt names the token 9.", {
      subject: { part: "prompt" },
    });
    const { engine, models } = service();
    engine.script(finish).script(fault).script(fault);
    const several = complete(models, ask({ prompts: ["Once", [9]] }), options);
    expect(await rejectionOf(Array.fromAsync(several.events))).toMatchObject({
      subject: { part: "prompt", at: 1 },
      message: "The prompt names the token 9.",
    });
    const one = complete(models, ask({ prompts: [[9]] }), options);
    expect(await rejectionOf(Array.fromAsync(one.events))).toBe(fault);
  });

  const token = { token: "a", logprob: -1, bytes: [97], top: [] };
  const scored = (text: string) =>
    ({ type: "text", text, logprobs: [token], echoed: true }) as const;
  const scoring = { choices: 3, echo: true, topLogprobs: 0, seed: 5 };

  test("have a prompt scored once, however many answers begin with it", async () => {
    const { engine, models } = service();
    for (const prompt of ["Once", "Twice"]) {
      engine.script(scored(prompt), scored(""), { type: "text", text: "a" }, finish);
      for (const text of ["b", "c"]) engine.script({ type: "text", text }, finish);
    }
    const one = complete(models, ask(scoring), options);
    const events = await Array.fromAsync(one.events);
    for (const [index, text] of ["a", "b", "c"].entries()) {
      expect(events.flatMap((event) => (event.index === index ? [event.value] : []))).toEqual([
        scored("Once"),
        scored(""),
        { type: "text", text },
        finish,
      ]);
    }
    expect(engine.completions.map(({ echo, seed }) => [echo, seed])).toEqual([
      [true, 5],
      [false, 6],
      [false, 7],
    ]);
    const several = complete(models, ask({ ...scoring, prompts: ["Twice"] }), options);
    expect(await Array.fromAsync(several.events)).toHaveLength(12);
  });

  test("whose scored prompt fails end, the answers that wait for it too", async () => {
    const { engine, models } = service();
    engine.script(scored("Once"), new Error("no"));
    const { events } = complete(models, ask(scoring), options);
    expect(await rejectionOf(Array.fromAsync(events))).toMatchObject({ message: "no" });
    expect(engine.completions).toHaveLength(1);
  });

  test("that nobody reads any more end while they wait for a scored prompt", async () => {
    const { engine, models } = service();
    engine.script(scored("Once"), aborted);
    const { events } = complete(models, ask(scoring), options);
    for await (const { value } of events) {
      expect(value).toEqual(scored("Once"));
      break;
    }
    expect([engine.completions.length, engine.ended]).toEqual([1, 1]);
  });

  test("run eight at a time", async () => {
    const { engine, models } = service();
    const gate = Promise.withResolvers<void>();
    for (let answer = 0; answer < 20; answer++) engine.script(() => gate.promise, finish);
    const prompts = Array.from({ length: 20 }, (_, at) => `prompt ${at}`);
    const events = Array.fromAsync(complete(models, ask({ prompts }), options).events);
    await waitFor("eight answers", () => engine.completions.length >= 8);
    expect(engine.completions).toHaveLength(8);
    gate.resolve();
    expect(await events).toHaveLength(20);
    expect(engine.completions).toHaveLength(20);
  });
});

describe("iterations with a bound", () => {
  /** Counts how many run at the same time. */
  function watched(count: number, signal: AbortSignal) {
    const seen = { running: 0, most: 0, started: 0 };
    const starts = Array.from(
      { length: count },
      (_, at) =>
        async function* () {
          seen.started++;
          seen.running++;
          seen.most = Math.max(seen.most, seen.running);
          try {
            for (let turn = 0; turn < 3; turn++) {
              await Promise.resolve();
              yield at;
            }
          } finally {
            seen.running--;
          }
        },
    );
    return { seen, all: atMost(2, starts, signal) };
  }

  test("run no more than so many at the same time, and all of them in the end", async () => {
    const { seen, all } = watched(7, new AbortController().signal);
    const values = await Array.fromAsync(merge(all));
    expect(values).toHaveLength(21);
    expect(new Set(values.map(({ index }) => index)).size).toBe(7);
    expect(seen).toEqual({ running: 0, most: 2, started: 7 });
  });

  test("that wait for their turn never begin once the reader has left", async () => {
    const abandoned = new AbortController();
    const { seen, all } = watched(7, abandoned.signal);
    for await (const _ of merge(all, { abandon: () => abandoned.abort() })) break;
    expect(seen).toEqual({ running: 0, most: 2, started: 2 });
  });
});
