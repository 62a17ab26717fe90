import { beforeEach, describe, expect, test } from "bun:test";
import type { Conversation } from "../../../../src/core/chat/context-room.ts";
import { GroundingService } from "../../../../src/core/chat/grounding.ts";
import type { RagRequest, RagSettings } from "../../../../src/core/chat/rag.ts";
import { theNode } from "../../../../src/core/documents/document-caller.ts";
import { ModelRegistry } from "../../../../src/core/models/model-registry.ts";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import type { Reranker } from "../../../../src/core/ports/reranker.ts";
import { RetrievalService } from "../../../../src/core/retrieval/retrieval-service.ts";
import { passage } from "../../../support/passages.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { ScriptedChatEngine, ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";
import { testDocuments } from "../../../support/test-documents.ts";
import { embeddingModel, memoryRepository, rerankingModel } from "../../../support/test-models.ts";
import { unusedRepository } from "../../../support/unused-repository.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const system = (content: string): ChatMessage => ({ role: "system", content });

/** The question "q" scores 1 with "p1", less with "p2", less with "p3"; a long one scores with "p4". */
const passages = [
  passage(1, [1, 1], { source: "p1", document: "a.md" }),
  passage(2, [1.2, 1], { source: "p2", document: "a.md" }),
  passage(3, [1.5, 1], { source: "p3", document: "" }),
  passage(4, [6, 1], { source: "p4", document: "b.md" }),
];

const { log, lines } = recordingLog();
beforeEach(() => {
  lines.length = 0;
});

/** Hears that its caller has left. */
const strictJudge: Reranker = {
  maxTokens: 64,
  rank: async (_question, _passages, { signal }) => {
    signal.throwIfAborted();
    return { scores: [], tokens: 0 };
  },
};

async function grounding(
  settings: Partial<RagSettings> = {},
  attach = true,
  judging: { reranker?: string } = {},
) {
  const embedding = new ScriptedEmbeddingEngine();
  const models = new ModelRegistry([
    { name: "vectors", type: "embedding" },
    { name: "judge", type: "reranker" },
  ]);
  models.add(embeddingModel("vectors", embedding));
  models.add(rerankingModel("judge", strictJudge));
  const bounds = { limit: 5, scoreThreshold: 0.9 };
  const collection = { name: "x", embeddingModel: "vectors", url: "embedded", bounds };
  const search = { mode: "dense", candidates: 9, ...judging } as const;
  const retrieval = new RetrievalService(models, collection, search);
  const { documents, registry } = testDocuments({ models, retrieval });
  const repository = memoryRepository(2);
  await repository.upsert(passages);
  if (attach) retrieval.attach({ repository, queryPrefix: "" });
  const rag = {
    policy: "last-user-message",
    prompt: "Use these.",
    bounds,
    autoThreshold: 0.99,
    contextWindow: 1,
    followUps: false,
  } as const;
  const service = new GroundingService(retrieval, { ...rag, ...settings }, log);
  const engine = new ScriptedChatEngine();
  const ground = (
    messages: readonly ChatMessage[],
    wanted?: RagRequest,
    more: Partial<Conversation> = {},
    caller = "ada",
  ) =>
    service.ground({ messages, tools: [], maxTokens: undefined, ...more }, wanted, engine, {
      signal: new AbortController().signal,
      caller,
      searcher: theNode,
    });
  return { ground, engine, embedding, service, retrieval, repository, documents, registry };
}

const block = "[1] a.md\np1\n\n[2] a.md\np2\n\n[3] p3\n\nUse these.";

describe("passages", () => {
  test("go before the last user message, each with its marker", async () => {
    const { ground } = await grounding();
    const { messages, grounding: used } = await ground([system("s"), user("q")]);
    expect(messages).toEqual([system("s"), user(`${block}\n\nq`)]);
    expect(used).toEqual({
      points: [1, 2, 3].map((at) => expect.objectContaining({ source: `p${at}` })),
      dropped: 0,
      carried: 0,
    });
  });

  test("go to the end of the system message, which is made where there is none", async () => {
    const { ground } = await grounding({ policy: "system-message" });
    expect((await ground([system("s"), user("q")])).messages).toEqual([
      system(`s\n\n${block}`),
      user("q"),
    ]);
    expect((await ground([user("q")])).messages).toEqual([system(block), user("q")]);
  });

  test("leave the conversation alone where there is none that matches", async () => {
    const { ground } = await grounding({ bounds: { limit: 5, scoreThreshold: 1.1 } });
    const { messages, grounding: used } = await ground([user("q")]);
    expect(messages).toEqual([user("q")]);
    expect(used).toEqual({ points: [], dropped: 0, carried: 0 });
  });

  test("are not looked for where the policy is off", async () => {
    const { ground, embedding } = await grounding({ policy: "off" });
    const messages = [user("q")];
    expect(await ground(messages)).toEqual({ messages });
    expect(embedding.requests).toEqual([]);
  });
});

describe("a request that leaves grounding to the node", () => {
  const auto = { auto: true, bounds: {} };

  test("has only passages that clearly match", async () => {
    const { ground } = await grounding({ policy: "off" });
    const { messages, grounding: used } = await ground([user("q")], auto);
    expect(messages).toEqual([user("[1] a.md\np1\n\n[2] a.md\np2\n\nUse these.\n\nq")]);
    expect(used?.points.map(({ source }) => source)).toEqual(["p1", "p2"]);
  });

  test("has none that are far below the best", async () => {
    const loose = { autoThreshold: -1, bounds: { limit: 5, scoreThreshold: -1 } };
    const { ground } = await grounding(loose);
    expect((await ground([user("q")])).grounding?.points).toHaveLength(4);
    const { grounding: used } = await ground([user("q")], auto);
    expect(used?.points.map(({ source }) => source)).toEqual(["p1", "p2", "p3"]);
  });

  test("is answered as if nobody had asked for passages where none does", async () => {
    const { ground, embedding } = await grounding({ autoThreshold: 1.1 });
    const messages = [user("q")];
    expect(await ground(messages, auto)).toEqual({ messages });
    expect(embedding.requests).toHaveLength(1);
  });

  test("never has worse passages than the node allows, or than it asks for", async () => {
    const { ground } = await grounding({ autoThreshold: -1 });
    const all = await ground([user("q")], auto);
    expect(all.grounding?.points).toHaveLength(3);
    const few = await ground([user("q")], { auto: true, bounds: { scoreThreshold: 0.999 } });
    expect(few.grounding?.points).toHaveLength(1);
  });

  test("says so where the documents could not be searched", async () => {
    const { ground } = await grounding({}, false);
    const { messages, grounding: used } = await ground([user("q")], auto);
    expect(messages).toEqual([user("q")]);
    expect(used?.error).toContain("still being prepared");
  });
});

describe("what the model was told of the passages", () => {
  const prompt = "Answer from the passages above, briefly.";

  test("ends an answer that repeats its first words, of one passage or of several", async () => {
    const { ground } = await grounding({ prompt });
    expect((await ground([user("q")])).stop).toBe("Answer from the passage");
    const short = await grounding({ prompt: "Use passages to answer it." });
    expect((await short.ground([user("q")])).stop).toBe("Use passages to answer it");
  });

  test("ends none where there is no passage, or where its first words are few", async () => {
    const { ground } = await grounding({ prompt, bounds: { limit: 5, scoreThreshold: 1.1 } });
    expect(await ground([user("q")])).not.toHaveProperty("stop");
    const short = await grounding({ prompt: "Read, and answer from the passages above." });
    expect(await short.ground([user("q")])).not.toHaveProperty("stop");
  });
});

describe("a request", () => {
  test("switches grounding off and on, and chooses where the passages go", async () => {
    const on = await grounding();
    expect(await on.ground([user("q")], { policy: "off", bounds: {} })).toEqual({
      messages: [user("q")],
    });
    const off = await grounding({ policy: "off" });
    const { messages } = await off.ground([user("q")], { bounds: {} });
    expect(messages).toEqual([user(`${block}\n\nq`)]);
    const chosen = await off.ground([user("q")], { policy: "system-message", bounds: {} });
    expect(chosen.messages).toEqual([system(block), user("q")]);
  });

  test("narrows the node's bounds and never widens them", async () => {
    const { ground } = await grounding({ bounds: { limit: 2, scoreThreshold: 0.9 } });
    const sources = async (bounds: RagRequest["bounds"]) =>
      (await ground([user("q")], { bounds })).grounding?.points.map(({ source }) => source);
    expect(await sources({})).toEqual(["p1", "p2"]);
    expect(await sources({ limit: 1 })).toEqual(["p1"]);
    expect(await sources({ limit: 9, scoreThreshold: -1 })).toEqual(["p1", "p2"]);
    expect(await sources({ scoreThreshold: 0.999 })).toEqual(["p1"]);
  });

  test("says how many user messages make the question", async () => {
    const { ground, embedding } = await grounding({ contextWindow: 2 });
    const messages = [user("one"), assistant("a"), user("two"), assistant("b"), user("three")];
    await ground(messages);
    await ground(messages, { bounds: {}, contextWindow: 1 });
    expect(embedding.requests).toEqual(["two\nthree", "three"]);
  });

  test("is refused where it wants more messages in the question than the node allows", async () => {
    const { ground, embedding } = await grounding({ contextWindow: 2 });
    const asked = ground([user("one")], { bounds: {}, contextWindow: 3 });
    expect(await rejectionOf(asked)).toMatchObject({
      kind: "invalid_request",
      param: "rag.context_window",
      message:
        "'rag.context_window' is 3; this node allows at most 2 (its own rag.context_window).",
    });
    expect(embedding.requests).toEqual([]);
  });
});

describe("a question that leans on the one before", () => {
  const messages = [user("the red llama"), assistant("a"), user("and it?")];

  test("is searched for together with it, which the answer says", async () => {
    const { ground, embedding } = await grounding({ followUps: true });
    const { grounding: used } = await ground(messages);
    expect(embedding.requests).toEqual(["the red llama\nand it?"]);
    expect(used?.notice).toBe(
      "The last user message leans on what was before it, so it was matched together with the user message before.",
    );
  });

  test("is searched for alone where that is switched off, or there is none before", async () => {
    const off = await grounding();
    expect((await off.ground(messages)).grounding?.notice).toBeUndefined();
    expect(off.embedding.requests).toEqual(["and it?"]);
    const on = await grounding({ followUps: true });
    expect((await on.ground(messages.slice(2))).grounding?.notice).toBeUndefined();
    expect(on.embedding.requests).toEqual(["and it?"]);
  });

  test("is searched for alone, and nothing is said, where both are too long", async () => {
    const { ground, embedding } = await grounding({ followUps: true });
    const long = user("1 2 3 4 5 6 7 8");
    expect((await ground([long, user("and it?")])).grounding?.notice).toBeUndefined();
    expect(embedding.requests).toEqual(["and it?"]);
  });

  test("changes nothing where more messages are the question anyway", async () => {
    const { ground, embedding } = await grounding({ followUps: true, contextWindow: 3 });
    await ground([user("one"), ...messages]);
    expect(embedding.requests).toEqual(["one\nthe red llama\nand it?"]);
  });
});

describe("passages that another one contains", () => {
  test("are left out and counted, and do not come again in the next turn", async () => {
    const { ground, repository } = await grounding();
    const text = "Llamas hum when they are content, and when they are not.";
    await repository.upsert([
      passage(1, [1, 1], { source: text, document: "a.md" }),
      passage(2, [1.2, 1], { source: `${text} They spit too.`, document: "b.md" }),
    ]);
    const first = await ground([user("q")]);
    expect(first.grounding).toMatchObject({
      points: [{ source: `${text} They spit too.` }, { source: "p3" }],
      dropped: 1,
    });
    const second = await ground([user("q"), assistant("a"), user("x")]);
    expect(second.grounding).toMatchObject({ carried: 2, dropped: 1 });
    expect(second.grounding?.points).toHaveLength(2);
  });
});

describe("a question that the embedding model cannot take whole", () => {
  test("loses its older messages first", async () => {
    const { ground, embedding } = await grounding({ contextWindow: 3 });
    await ground([user("1 2 3 4"), user("5 6 7 8"), user("9 10 11")]);
    expect(embedding.requests).toEqual(["5 6 7 8\n9 10 11"]);
  });

  test("then the beginning of the last, which the answer says", async () => {
    const { ground, embedding } = await grounding();
    const { grounding: used } = await ground([user("1 2 3 4 5 6 7 8 9 10")]);
    expect(embedding.requests).toEqual(["3 4 5 6 7 8 9 10"]);
    expect(used?.notice).toMatch(/more tokens than the embedding model takes \(8\); its end/);
  });
});

describe("the context", () => {
  test("drops passages that do not fit, lowest score first, and counts them", async () => {
    const { ground, engine } = await grounding();
    engine.contextSize = 11;
    const { messages, grounding: used } = await ground([user("q")], undefined, { maxTokens: 2 });
    expect(used).toMatchObject({ points: [{ source: "p1" }, { source: "p2" }], dropped: 1 });
    expect(await engine.countTokens(messages)).toBeLessThanOrEqual(9);
    engine.contextSize = 2;
    expect(await ground([user("q")])).toMatchObject({
      messages: [user("q")],
      grounding: { points: [], dropped: 3 },
    });
  });

  test("that the conversation alone is too long for is left for the model to refuse", async () => {
    const { ground, engine } = await grounding();
    engine.contextSize = 4;
    const messages = [user("one two three four five six seven")];
    expect((await ground(messages)).messages).toEqual(messages);
  });
});

describe("the turns of a conversation", () => {
  test("get back the passages that they had, so that the prompt begins as it did", async () => {
    const { ground } = await grounding({ bounds: { limit: 1, scoreThreshold: 0.9 } });
    const first = await ground([system("s"), user("q")]);
    const second = await ground([system("s"), user("q"), assistant("a"), user("x")]);
    expect(second.messages.slice(0, 2)).toEqual([...first.messages]);
    expect(second.grounding).toMatchObject({ carried: 1, points: [{ source: "p1" }] });
  });

  test("are not mistaken for those of another conversation", async () => {
    const { ground } = await grounding();
    await ground([system("s"), user("q")]);
    const other = await ground([system("other"), user("q"), assistant("a"), user("x")]);
    expect(other.messages[1]).toEqual(user("q"));
    expect(other.grounding?.carried).toBe(0);
  });

  test("have passages once, and numbers that go on", async () => {
    const { ground } = await grounding({ bounds: { limit: 1, scoreThreshold: 0.9 } });
    await ground([user("q")]);
    const same = await ground([user("q"), assistant("a"), user("x")]);
    expect(same.messages.at(-1)).toEqual(user("x"));
    expect(same.grounding).toMatchObject({ points: [{ source: "p1" }], carried: 1, dropped: 0 });
    const other = await ground([user("q"), assistant("a"), user("longer")]);
    expect(other.messages).toEqual([
      user("[1] a.md\np1\n\nUse these.\n\nq"),
      assistant("a"),
      user("[2] b.md\np4\n\nUse these.\n\nlonger"),
    ]);
    expect(other.grounding).toMatchObject({
      points: [{ source: "p1" }, { source: "p4" }],
      carried: 1,
    });
  });

  test("lose the oldest passages first where they do not fit, count them, and do not bring them back", async () => {
    const { ground, engine } = await grounding({ bounds: { limit: 1, scoreThreshold: 0.9 } });
    await ground([user("q")]);
    const messages = [user("q"), assistant("a"), user("longer")];
    engine.contextSize = 14;
    const shortened = [user("q"), assistant("a"), user("[1] b.md\np4\n\nUse these.\n\nlonger")];
    expect(await ground(messages)).toMatchObject({
      messages: shortened,
      grounding: { points: [{ source: "p4" }], carried: 0, dropped: 1 },
    });
    engine.contextSize = 100;
    const next = await ground([...messages, assistant("b"), user("x")]);
    expect(next.messages.slice(0, 3)).toEqual(shortened);
  });

  test("keep their passages while tools are called", async () => {
    const { ground, embedding } = await grounding();
    const { grounding: before } = await ground([user("q")]);
    const call: ChatMessage = {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "1", name: "look", arguments: "{}" }],
    };
    const result: ChatMessage = { role: "tool", toolCallId: "1", content: "seen" };
    const amid = await ground([user("q"), call, result]);
    expect(amid.messages).toEqual([user(`${block}\n\nq`), call, result]);
    expect<unknown>(amid.grounding).toEqual(before);
    expect(embedding.requests).toEqual(["q"]);
  });
});

describe("retrieval that fails", () => {
  test("lets the chat be answered without passages, and is said", async () => {
    const { ground } = await grounding({}, false);
    expect(await ground([user("q")])).toEqual({
      messages: [user("q")],
      grounding: {
        points: [],
        dropped: 0,
        carried: 0,
        error: expect.stringContaining("collection is still being prepared"),
      },
    });
    expect(lines).toMatchObject([{ level: "warn" }]);
  });

  test("says nothing of the inside", async () => {
    const { ground, repository } = await grounding();
    await repository[Symbol.asyncDispose]();
    expect((await ground([user("q")])).grounding?.error).toBe("Retrieval failed.");
  });

  test("because the caller left is the caller's end", async () => {
    const { service, engine } = await grounding({}, true, { reranker: "judge" });
    const signal = AbortSignal.abort(new Error("left"));
    const conversation = { messages: [user("q")], tools: [], maxTokens: undefined };
    const left = service.ground(conversation, undefined, engine, { signal, searcher: theNode });
    expect(await rejectionOf(left)).toMatchObject({ message: "left" });
  });
});

describe("the passages of an earlier turn", () => {
  const begun = [user("q")];
  const goesOn = [...begun, assistant("a"), user("q q q q q q")];

  test("belong to the caller who asked for them", async () => {
    const { ground } = await grounding();
    await ground(begun, undefined, {}, "ada");
    const { grounding: others } = await ground(goesOn, undefined, {}, "grace");
    expect(others?.carried).toBe(0);
    const { grounding: own } = await ground(goesOn, undefined, {}, "ada");
    expect(own?.carried).toBe(3);
  });

  test("are not forgotten for a thousand of another caller's", async () => {
    const { ground } = await grounding();
    await ground(begun, undefined, {}, "ada");
    for (let at = 0; at < 1000; at++) await ground([user(`q ${at}`)], undefined, {}, "grace");
    const { grounding: own } = await ground(goesOn, undefined, {}, "ada");
    expect(own?.carried).toBe(3);
    const { grounding: others } = await ground(
      [user("q 0"), assistant("a"), user("q q q q q q")],
      undefined,
      {},
      "grace",
    );
    expect(others?.carried).toBe(0);
  });

  test("are gone with the document that they were taken from", async () => {
    const { ground, repository } = await grounding();
    await ground(begun);
    await repository.delete("a.md");
    const { messages, grounding: used } = await ground(goesOn);
    expect(used?.points.map(({ source }) => source)).toEqual(["p3", "p4"]);
    expect(messages[0]).toEqual(user("[1] p3\n\nUse these.\n\nq"));
  });

  test("are gone amid the turn too", async () => {
    const { ground, repository } = await grounding();
    await ground(begun);
    await repository.delete("a.md");
    const { grounding: used } = await ground([...begun, assistant("a")]);
    expect(used?.points.map(({ source }) => source)).toEqual(["p3"]);
  });

  test("are left out while the collection cannot be read, and come back with it", async () => {
    const { ground, retrieval, repository } = await grounding();
    await ground(begun);
    const away = () => Promise.reject(new Error("away"));
    const broken = { ...unusedRepository, read: away, search: away };
    retrieval.attach({ repository: broken, queryPrefix: "" });
    expect((await ground(goesOn)).grounding).toEqual({
      points: [],
      dropped: 0,
      carried: 0,
      error: "Retrieval failed.",
    });
    retrieval.attach({ repository, queryPrefix: "" });
    expect((await ground(goesOn)).grounding?.carried).toBe(3);
  });

  test("are looked for by reading the conversation once", async () => {
    const { ground } = await grounding();
    let read = 0;
    const turns = 300;
    const messages = Array.from(
      { length: turns },
      (): ChatMessage => ({
        role: "user",
        get content() {
          read++;
          return "x";
        },
      }),
    );
    await ground(messages);
    // By the hash, the question, the rendering and the count; once for each turn would be 45,000.
    expect(read).toBeLessThan(turns * 20);
  });
});

test("passages on their way to the node's own collection are waited for where the node decides, unless others are named", async () => {
  const { ground, retrieval, documents, registry } = await grounding();
  await using _ = registry;
  const other = await documents.stores.create(theNode, { name: "other" });
  let waits = 0;
  retrieval.coming.stored = async () => {
    waits++;
  };
  await ground([user("q")], { bounds: {} });
  expect(waits).toBe(0);
  await ground([user("q")], { auto: true, bounds: {} });
  expect(waits).toBe(1);
  await ground([user("q")], { auto: true, bounds: {}, stores: [other.id] });
  expect(waits).toBe(1);
});
