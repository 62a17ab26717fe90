import { describe, expect, test } from "bun:test";
import { type ChatRequest, ChatService } from "../../../../src/core/chat/chat-service.ts";
import { GroundingService } from "../../../../src/core/chat/grounding.ts";
import { ImageFiles } from "../../../../src/core/chat/images.ts";
import type { RagSettings } from "../../../../src/core/chat/rag.ts";
import { theNode } from "../../../../src/core/documents/document-caller.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import { RetrievalService } from "../../../../src/core/retrieval/retrieval-service.ts";
import { untilAborted } from "../../../support/aborted.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { finish, ScriptedChatEngine } from "../../../support/scripted-engines.ts";
import { silentLog } from "../../../support/silence.ts";
import { card, chatModel } from "../../../support/test-models.ts";

const request: ChatRequest = {
  model: "chatty",
  messages: [{ role: "user", content: "Hello" }],
  sampling: {},
};

const defaults = {
  temperature: 0.7,
  topP: 0.9,
  topK: 0,
  minP: 0.08,
  presencePenalty: 0.2,
  frequencyPenalty: 0.3,
  repeatPenalty: 1.1,
  repeatLastN: -1,
  dryMultiplier: 0,
  dryBase: 1.75,
  dryAllowedLength: 2,
};

const reading = { searcher: theNode, hold: () => {} };

function service({ nPredict = -1 }: { nPredict?: number } = {}) {
  const engine = new ScriptedChatEngine();
  const models = new ModelRegistry([{ name: "chatty", type: "chat" }]);
  const known = card("chatty", "chat");
  models.add(chatModel("chatty", engine, { ...known, settings: { ...known.settings, nPredict } }));
  const collection = {
    name: "none",
    embeddingModel: undefined,
    url: "embedded",
    bounds: { limit: 1, scoreThreshold: 0 },
  };
  const retrieval = new RetrievalService(models, collection, { mode: "dense", candidates: 1 });
  const rag: RagSettings = {
    policy: "off",
    prompt: "",
    bounds: collection.bounds,
    autoThreshold: 0.5,
    contextWindow: 1,
    followUps: false,
  };
  const files = { content: () => Promise.reject(new Error("There are no files")) };
  const chat = new ChatService(
    models,
    new GroundingService(retrieval, rag, silentLog),
    new ImageFiles(files, { maxImageBytes: 0, maxBodyBytes: 0 }),
  );
  const answer = async (sent: Partial<ChatRequest>) => {
    const { signal } = new AbortController();
    const { events, ...rest } = await chat.answer({ ...request, ...sent, ...reading }, { signal });
    return { ...rest, events: await Array.fromAsync(events) };
  };
  return { engine, chat, answer };
}

describe("a chat answer", () => {
  test("tells its model, fingerprint and number of choices, and its events", async () => {
    const { engine, answer } = service();
    engine.script({ type: "text", text: "Hi" }, finish);
    expect(await answer({})).toEqual({
      model: "chatty",
      fingerprint: "fp_c0ffee",
      choices: 1,
      events: [
        { index: 0, value: { type: "text", text: "Hi" } },
        { index: 0, value: finish },
      ],
    });
  });

  test("takes the model's defaults for all that the request is silent on", async () => {
    const { engine, answer } = service();
    engine.script(finish);
    await answer({});
    expect(engine.requests).toEqual([{ messages: request.messages, sampling: defaults }]);
  });

  test("takes what the request says, zeros included", async () => {
    const { engine, answer } = service();
    engine.script(finish);
    const sampling = { temperature: 0, topK: 5, minP: 0, repeatPenalty: 2 };
    await answer({ sampling, maxTokens: 3, stop: ["x"], topLogprobs: 0, seed: 0 });
    expect(engine.requests).toEqual([
      {
        messages: request.messages,
        sampling: { ...defaults, ...sampling },
        maxTokens: 3,
        stop: ["x"],
        topLogprobs: 0,
        seed: 0,
      },
    ]);
  });

  test.each([
    [-1, undefined, undefined],
    [12, undefined, 12],
    [12, 99, 99],
    [-1, 7, 7],
    [0, undefined, 0],
  ])("with n_predict %p and max_tokens %p may have %p tokens", async (nPredict, asked, most) => {
    const { engine, answer } = service({ nPredict });
    engine.script(finish);
    await answer(asked === undefined ? {} : { maxTokens: asked });
    expect(engine.requests.map(({ maxTokens }) => maxTokens)).toEqual([most]);
  });
});

describe("several choices", () => {
  test("end with the first that fails, also those that still wait", async () => {
    const { engine, answer } = service();
    engine.script(new Error("broken"));
    engine.script({ type: "text", text: "Hi" }, untilAborted);
    engine.script(untilAborted);
    expect(await rejectionOf(answer({ choices: 3 }))).toMatchObject({ message: "broken" });
    expect(engine.ended).toBe(3);
  });

  test("have seeds that count up from the request's", async () => {
    const { engine, answer } = service();
    engine.script(finish).script(finish).script(finish);
    const { choices, events } = await answer({ seed: 41, choices: 3 });
    expect(choices).toBe(3);
    expect(engine.requests.map(({ seed }) => seed)).toEqual([41, 42, 43]);
    expect(events.map(({ index }) => index).toSorted()).toEqual([0, 1, 2]);
  });

  test("have no seed where the request has none", async () => {
    const { engine, answer } = service();
    engine.script(finish).script(finish);
    await answer({ choices: 2 });
    expect(engine.requests.map((sent) => "seed" in sent)).toEqual([false, false]);
  });
});

test("a model that is not there is refused before any event", async () => {
  const { chat } = service();
  const { signal } = new AbortController();
  const refusal = await rejectionOf(
    chat.answer({ ...request, ...reading, model: "nobody" }, { signal }),
  );
  expect(refusal).toMatchObject({ kind: "model_not_found" });
});
