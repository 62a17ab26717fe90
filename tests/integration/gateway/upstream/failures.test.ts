import { describe, expect, test } from "bun:test";
import { mostValues } from "../../../../src/core/json-size.ts";
import type { ChatModel } from "../../../../src/core/models/model.ts";
import type { GenerationRequest } from "../../../../src/core/ports/chat-engine.ts";
import { ReplicaSet } from "../../../../src/gateway/replicas/replica-set.ts";
import { greedy } from "../../../support/greedy.ts";
import { watchLoop } from "../../../support/loop-watch.ts";
import {
  endlessStream,
  frame,
  openAiServer,
  type Script,
  streamOf,
} from "../../../support/openai-server.ts";
import { recordedTei } from "../../../support/recorded-tei.ts";
import { recordedVllm, vllmModel } from "../../../support/recorded-vllm.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import {
  openFarChat,
  openFarEmbedding,
  openFarReranker,
  targetAt,
} from "../../../support/upstream.ts";
import { waitFor } from "../../../support/wait-for.ts";

const { signal } = new AbortController();
const request: GenerationRequest = {
  messages: [{ role: "user", content: "Hello" }],
  sampling: greedy,
};

/** A model whose chats are answered by a script, once it is opened. */
async function scripted(chat: () => Response | Promise<Response>, silenceMs = 60_000) {
  const resources = new AsyncDisposableStack();
  const instead: Script = ({ path, body }) =>
    path === "/v1/chat/completions" && Object(body).messages.length > 0 ? chat() : undefined;
  const server = resources.use(recordedVllm({ instead }));
  const { target, ...rest } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
  const model: ChatModel = resources.use(await openFarChat(target));
  // Opening it is no matter of this time.
  target.silenceMs = silenceMs;
  rest.replicas.said.splice(0);
  return { ...rest, target, server, model, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const levels = 1000;
const nested = `data: {"choices":[],"x":${"[".repeat(levels)}${"]".repeat(levels)}}\n\n`;

const crowded = `data: {"choices":[],"x":[${"0,".repeat(mostValues)}0]}\n\n`;

const run = ({ model }: { model: ChatModel }, wanted: Partial<GenerationRequest> = {}) =>
  Array.fromAsync(model.engine.generate({ ...request, ...wanted }, { signal }));

describe("an answer of a server elsewhere that goes wrong", () => {
  test.each([
    [429, "7", "too_many_requests", 7000],
    [503, "3", "unavailable", 3000],
  ])(
    "before it begins, with %i, is a matter of asking again later",
    async (status, after, kind, ms) => {
      await using far = await scripted(
        () => new Response("busy", { status, headers: { "retry-after": after } }),
      );
      expect(await rejectionOf(run(far))).toMatchObject({ kind, retryAfterMs: ms });
      expect([far.replicas.said, far.replicas.inFlight()]).toEqual([["overloaded"], 0]);
    },
  );

  test.each([
    ["a page of HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["something that is not JSON", () => streamOf(["data: hello\n\n"])],
    ["an event that is nested without end", () => streamOf([nested, frame("Hi", "stop")])],
    ["an event of too many values", () => streamOf([crowded, frame("Hi", "stop")])],
    ["an event without end", () => streamOf(["data: ", "x".repeat(9 * 1024 * 1024)])],
    ["a list", () => streamOf(["data: []\n\n"])],
    [
      "a call of nothing",
      () => streamOf(['data: {"choices":[{"delta":{"tool_calls":[{}]}}]}\n\n']),
    ],
  ])("before it begins, with %s, is the server's failure", async (_, answer) => {
    await using far = await scripted(answer);
    expect(await rejectionOf(run(far))).toMatchObject({
      kind: "upstream_failed",
      message: expect.stringMatching(/^The server of the model 'far' answered /),
    });
    expect([far.replicas.said, far.replicas.inFlight()]).toEqual([[expect.any(String)], 0]);
    expect(far.replicas.said).not.toContain("succeeded");
  });

  test.each([
    ["nothing", []],
    ["no reason", [frame("Hel")]],
  ])("that ends with %s is broken off", async (_, pieces) => {
    await using far = await scripted(() => streamOf(pieces));
    const { kind } = Object(await rejectionOf(run(far)));
    expect(["unavailable", "upstream_failed"]).toContain(kind);
    expect(far.replicas.said.at(-1)).toBe("the answer ended before it was finished");
  });

  test("that has a reason but no [DONE] is finished", async () => {
    await using far = await scripted(() => streamOf([frame("Hi", "stop")]));
    expect((await run(far)).at(-1)).toMatchObject({ type: "finish", reason: "stop" });
  });

  test("only because its text looks nested is none that goes wrong", async () => {
    const text = `${"[{".repeat(levels)}\\"${'"['.repeat(levels)}\\`;
    await using far = await scripted(() => streamOf([frame(text), frame("", "stop")]));
    expect(await run(far)).toContainEqual(expect.objectContaining({ type: "text", text }));
  });

  test("by silence is given up, before and amid it, and says for how long", async () => {
    for (const answer of [
      () => new Promise<Response>(() => {}),
      () => endlessStream("Hel").response,
    ]) {
      await using far = await scripted(answer, 200);
      expect(await rejectionOf(run(far))).toMatchObject({
        kind: "timeout",
        message: "The server of the model 'far' gave no answer for 0.2 s.",
      });
      expect(far.replicas.said.at(-1)).toBe("no answer for 0.2 s");
    }
  });

  test("by an error that trickles without end is given up too", async () => {
    const trickle = async function* () {
      for (;;) {
        yield " ";
        await Bun.sleep(10);
      }
    };
    await using far = await scripted(() => new Response(trickle(), { status: 500 }), 200);
    expect(await rejectionOf(run(far))).toMatchObject({
      kind: "timeout",
      message: "The server of the model 'far' gave no complete answer for 0.2 s.",
    });
  });

  test.each([
    ["unavailable", { message: "Loading.", code: "unavailable" }, "overloaded"],
    [
      "invalid_request",
      { message: "No.", type: "invalid_request_error", param: "stop" },
      "succeeded",
    ],
  ])("with an error as its first event is as with that status: %s", async (kind, error, said) => {
    await using far = await scripted(() => streamOf([`data: ${JSON.stringify({ error })}\n\n`]));
    expect(await rejectionOf(run(far))).toMatchObject({ kind });
    expect(far.replicas.said).toEqual([said]);
  });
});

test("a conversation that no context could hold is refused without being sent", async () => {
  await using far = await scripted(() => streamOf([frame("Hi", "stop")]));
  const before = far.server.asked.length;
  const messages = [{ role: "user", content: "x".repeat(40_960 * 128 + 1) }] as const;
  const { engine } = far.model;
  expect(await engine.countTokens(messages)).toBe(Number.POSITIVE_INFINITY);
  expect(
    await rejectionOf(Array.fromAsync(engine.generate({ ...request, messages }, { signal }))),
  ).toMatchObject({ kind: "context_length_exceeded", subject: { part: "messages" } });
  expect(far.server.asked).toHaveLength(before);
});

test("the node's key is in no error that a caller sees", async () => {
  const key = "correct-horse";
  await using far = await scripted(() =>
    Response.json({ error: { message: `Bad header: x-api-key: ${key}` } }, { status: 400 }),
  );
  far.target.key = key;
  expect(await rejectionOf(run(far))).toMatchObject({
    kind: "invalid_request",
    message: "Bad header: x-api-key: …",
  });
});

test("names of megabytes that a server gives itself are shown to nobody", async () => {
  const long = "x".repeat(1_000_000);
  await using server = recordedVllm({
    instead: ({ path }) => {
      if (path === "/version") return Response.json({ version: long });
      if (path !== "/v1/models") return undefined;
      const model = { id: vllmModel, owned_by: long, max_model_len: 4096 };
      return Response.json({ data: [{ ...model, id: long }, model, { id: long }] });
    },
  });
  const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
  await using model = await openFarChat(target);
  expect(JSON.stringify(model.card).length).toBeLessThan(2000);
  target.upstreamModel = "other";
  const { message } = Object(await rejectionOf(openFarChat(target)));
  expect(message.length).toBeLessThan(2000);
});

describe("a caller that leaves", () => {
  test("ends the answer at the server", async () => {
    const { response, left } = endlessStream("Hel");
    await using far = await scripted(() => response);
    const leave = new AbortController();
    const reading = (async () => {
      for await (const _ of far.model.engine.generate(request, { signal: leave.signal })) {
        leave.abort(new Error("gone"));
      }
    })();
    expect(await rejectionOf(reading)).toMatchObject({ message: "gone" });
    await left;
    expect(far.replicas.inFlight()).toBe(0);
  });

  test("or stops reading ends it as well, and so does one that leaves before it begins", async () => {
    const { response, left } = endlessStream("Hel");
    await using far = await scripted(() => response);
    for await (const _ of far.model.engine.generate(request, { signal })) break;
    await left;
    let isAsked = false;
    await using silent = await scripted(() => {
      isAsked = true;
      return new Promise<Response>(() => {});
    });
    const leave = new AbortController();
    const waiting = rejectionOf(
      Array.fromAsync(silent.model.engine.generate(request, { signal: leave.signal })),
    );
    await waitFor("the server to be asked", () => isAsked);
    leave.abort(new Error("gone"));
    expect(await waiting).toMatchObject({ message: "gone" });
    expect([silent.replicas.said, silent.replicas.inFlight()]).toEqual([[], 0]);
  });
});

describe("an answer that has no end", () => {
  /** Sends the piece for as long as it is read; far more than any answer, so that a test that fails ends. */
  function endless(piece: string): { response: Response; sent: () => number; left: Promise<void> } {
    const most = 64 * 1024 * 1024;
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const bytes = new TextEncoder().encode(piece.repeat(Math.ceil(16_384 / piece.length)));
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent > most) return controller.close();
        sent += bytes.length;
        controller.enqueue(bytes);
        await new Promise((turn) => setImmediate(turn));
      },
      cancel: () => resolve(),
    });
    const headers = { "content-type": "text/event-stream" };
    return { response: new Response(body, { headers }), sent: () => sent, left };
  }

  test.each([
    ["texts", frame("and on ")],
    ["events that hold nothing", "data: {}\n\n"],
    ["comments", ": still here\n"],
  ])("of %s is cut where it is more than was asked for", async (_, piece) => {
    const { response, left } = endless(piece);
    await using far = await scripted(() => response);
    expect(await rejectionOf(run(far, { maxTokens: 5 }))).toMatchObject({
      kind: "upstream_failed",
      message: "The server of the model 'far' answered more than was asked for.",
    });
    await left;
    expect(far.replicas.said.at(-1)).toContain("more than was asked for");
  });

  test("is as long as was asked for where it has an event for each token", async () => {
    const frames = Array.from({ length: 3000 }, () => frame("on "));
    await using far = await scripted(() => streamOf([...frames, frame("", "length")]));
    expect(await run(far, { maxTokens: 3000 })).toHaveLength(3001);
  });

  test("leaves turns to others, however much of it comes at once", async () => {
    const whole = frame("on ").repeat(5000) + frame("", "length");
    await using far = await scripted(() => streamOf([whole]));
    let inTurn = 0;
    let most = 0;
    let isOver = false;
    const newTurn = (): void => {
      inTurn = 0;
      if (!isOver) setImmediate(newTurn);
    };
    newTurn();
    for await (const _ of far.model.engine.generate({ ...request, maxTokens: 5000 }, { signal })) {
      most = Math.max(most, ++inTurn);
    }
    isOver = true;
    expect(most).toBeLessThanOrEqual(128);
  });

  test("is read at the same speed where a text's log probabilities come before it", async () => {
    const piece = 'data: {"choices":[{"logprobs":{"content":[{"token":""}]}}]}\n\n'.repeat(1000);
    const pieces = Array.from({ length: 60 }, () => piece);
    await using far = await scripted(() => streamOf([...pieces, frame("Hi", "stop")]));
    using watch = watchLoop();
    const [text] = await run(far, { maxTokens: 60_000, topLogprobs: 0 });
    expect(text).toMatchObject({ text: "Hi", logprobs: { length: 60_000 } });
    expect(watch.longest()).toBeLessThan(1000);
  });

  test("has no log probabilities that were not asked for", async () => {
    const data = { choices: [{ delta: { content: "Hi" }, logprobs: { content: [{}] } }] };
    const first = `data: ${JSON.stringify(data)}\n\n`;
    await using far = await scripted(() => streamOf([first, frame("", "stop")]));
    expect((await run(far))[0]).toEqual({ type: "text", text: "Hi" });
  });

  test.each(["content", "reasoning"])(
    "is cut where its %s is longer than so many tokens are, however few events it comes in",
    async (field) => {
      const choice = { delta: { [field]: "x".repeat(60_000) } };
      const piece = `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
      const pieces = (count: number) => Array.from({ length: count }, () => piece);
      let sent = pieces(3);
      await using far = await scripted(() => streamOf([...sent, frame("", "stop")]));
      expect(await run(far, { maxTokens: 1000 })).not.toBeEmpty();
      sent = pieces(4);
      expect(await rejectionOf(run(far, { maxTokens: 1000 }))).toMatchObject({
        kind: "upstream_failed",
        message: "The server of the model 'far' answered more than was asked for.",
      });
    },
  );

  const look = { function: { name: "look", arguments: "{}" } };
  const thoughtAndText = { delta: { reasoning: "r", content: "c" } };
  const longCall = { index: 0, function: { name: "look", arguments: "a".repeat(900_000) } };
  test.each([
    [
      "calls",
      [{ delta: { tool_calls: Array.from({ length: 5000 }, (_, index) => ({ ...look, index })) } }],
    ],
    ["thoughts between texts", Array.from({ length: 2000 }, () => thoughtAndText)],
    ["arguments", Array.from({ length: 10 }, () => ({ delta: { tool_calls: [longCall] } }))],
  ])("of %s is cut where no answer has so many", async (_, choices) => {
    const chunks = choices.map((choice) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`);
    await using far = await scripted(() => streamOf([...chunks, frame("", "stop")]));
    expect(await rejectionOf(run(far))).toMatchObject({
      kind: "upstream_failed",
      message: "The server of the model 'far' answered more than was asked for.",
    });
  });

  test("of JSON is not read further than what was asked for takes", async () => {
    let isOpen = false;
    const answer = endless(" ");
    await using server = recordedVllm({
      instead: ({ path }) => (isOpen && path === "/v1/embeddings" ? answer.response : undefined),
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using model = await openFarEmbedding(target);
    isOpen = true;
    expect(await rejectionOf(model.engine.embed(["a"], { signal }))).toMatchObject({
      kind: "upstream_failed",
      message: "The server of the model 'far' answered more than was asked for.",
    });
    await answer.left;
  });
});

test("vectors that are longer than any model's are refused, also where they are written short", async () => {
  const embedding = Buffer.from(new Float32Array(100_000).fill(1).buffer).toString("base64");
  await using server = recordedVllm({
    instead: ({ path }) =>
      path === "/v1/embeddings" ? Response.json({ data: [{ embedding }] }) : undefined,
  });
  const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
  expect(await rejectionOf(openFarEmbedding(target))).toMatchObject({
    kind: "upstream_failed",
    message: "The server of the model 'far' answered with vectors of 100000 numbers.",
  });
});

describe("replicas of a model", () => {
  /** Two servers, of which the first answers chats as it is told; and the set that asks them. */
  async function two(first: () => Response | Promise<Response>, silenceMs = 60_000) {
    const resources = new AsyncDisposableStack();
    const chats = { bad: 0, well: 0 };
    const isChat: Script = ({ path, body }) =>
      path === "/v1/chat/completions" && Object(body).messages.length > 0
        ? new Response()
        : undefined;
    const answering =
      (name: "bad" | "well", answer: () => Response | Promise<Response>): Script =>
      async (asked, abort) => {
        if ((await isChat(asked, abort)) === undefined) return undefined;
        chats[name]++;
        return await answer();
      };
    const bad = resources.use(recordedVllm({ instead: answering("bad", first) }));
    const well = resources.use(
      recordedVllm({ instead: answering("well", () => streamOf([frame("Hi", "stop")])) }),
    );
    const { log } = recordingLog();
    const replicas = resources.use(
      new ReplicaSet({
        model: "far",
        urls: [`${bad.url}/v1`, `${well.url}/v1`],
        // Once it is out it stays so, for the length of a test.
        backoff: { firstPauseMs: 3_600_000, longestPauseMs: 3_600_000 },
        log,
      }),
    );
    const { target } = targetAt("", { upstreamModel: vllmModel, replicas });
    const model = resources.use(await openFarChat(target));
    target.silenceMs = silenceMs;
    const ask = (content: string) =>
      run({ model }, { messages: [{ role: "user", content }] }).then(
        (events) => events.at(-1)?.type,
        ({ kind }) => kind,
      );
    const states = () => replicas.status().map(({ state }) => state);
    return { ask, chats, states, [Symbol.asyncDispose]: () => resources.disposeAsync() };
  }

  const answers = [
    ["status 500", () => Response.json({ error: { message: "CUDA error" } }, { status: 500 })],
    ["an error as its first event", () => streamOf(['data: {"error":{"message":"CUDA"}}\n\n'])],
    ["no JSON", () => streamOf(["data: NaN\n\n"])],
    ["an answer that it breaks off", () => streamOf([frame("", "abort")])],
  ] as const;
  for (const [what, answer] of answers) {
    test(`one that answers with ${what} costs nobody an answer, and is left alone`, async () => {
      await using replicas = await two(answer);
      for (let at = 0; at < 40; at++) expect(await replicas.ask(`${at}`)).toBe("finish");
      expect(replicas.states()).toEqual(["out", "up"]);
      expect(replicas.chats).toEqual({ bad: 3, well: 40 });
    });
  }

  test.each([
    ["before", () => streamOf([frame("", "abort")])],
    ["amid", () => streamOf([frame("Hel"), frame("", "abort")])],
  ])(
    "one that breaks off one request %s its answer, however often, is not taken from others",
    async (_, answer) => {
      await using replicas = await two(answer);
      let content = 0;
      while (replicas.chats.bad === 0) await replicas.ask(`${++content}`);
      for (let at = 0; at < 10; at++) await replicas.ask(`${content}`);
      expect(replicas.states()).toEqual(["up", "up"]);
    },
  );

  test.each([
    ["has another model now", 404, "The model `far` does not exist."],
    ["takes no key of ours", 401, "Invalid API key"],
  ])("one that %s costs nobody an answer, and is spared", async (_, status, message) => {
    await using replicas = await two(() => Response.json({ error: { message } }, { status }));
    for (let at = 0; at < 40; at++) expect(await replicas.ask(`${at}`)).toBe("finish");
    expect(replicas.states()).toEqual(["up", "up"]);
    expect(replicas.chats.well).toBe(40);
    expect(replicas.chats.bad).toBeGreaterThan(0);
  });

  test("one that refuses a request with a status of its own is not at fault, and no other is asked", async () => {
    await using replicas = await two(() => new Response("no credit", { status: 402 }));
    const kinds: unknown[] = [];
    for (let at = 0; at < 40; at++) kinds.push(await replicas.ask(`${at}`));
    expect(new Set(kinds)).toEqual(new Set(["upstream_failed", "finish"]));
    expect(replicas.states()).toEqual(["up", "up"]);
    const { bad, well } = replicas.chats;
    expect(bad + well).toBe(40);
  });

  test("one that fails when it is asked what it serves leaves that to another", async () => {
    const broken = (): Response => new Response("no", { status: 500 });
    await using bad = openAiServer(broken);
    await using well = recordedVllm();
    const { log } = recordingLog();
    const urls = [`${bad.url}/v1`, `${well.url}/v1`];
    using replicas = new ReplicaSet({ model: "far", urls, log });
    const { target } = targetAt("", { upstreamModel: vllmModel, replicas });
    await using model = await openFarChat(target);
    expect(model.card.upstream?.server).toBe("vLLM 0.11.0");
  });

  test("one that quickly answers with something else than vectors costs nobody an answer, and is left alone", async () => {
    let asked = 0;
    const empty: Script = ({ path }) => {
      if (path !== "/v1/embeddings") return undefined;
      asked++;
      return Response.json({});
    };
    await using bad = recordedVllm({ instead: empty });
    await using well = recordedVllm();
    const urls = [`${bad.url}/v1`, `${well.url}/v1`];
    const backoff = { firstPauseMs: 3_600_000, longestPauseMs: 3_600_000 };
    using replicas = new ReplicaSet({ model: "far", urls, backoff, log: recordingLog().log });
    const { target } = targetAt("", { upstreamModel: vllmModel, replicas });
    await using model = await openFarEmbedding(target);
    for (let at = 0; at < 20; at++) {
      expect(await model.engine.embed([`${at}`], { signal })).toHaveLength(1);
    }
    expect([asked, replicas.status()[0]?.state]).toEqual([3, "out"]);
  });

  test("what one is silent about is not given to another: its prompt would be computed twice", async () => {
    await using replicas = await two(() => new Promise<Response>(() => {}), 100);
    const kinds: unknown[] = [];
    while (replicas.chats.bad === 0) kinds.push(await replicas.ask(`${kinds.length}`));
    expect(kinds.at(-1)).toBe("timeout");
    expect(replicas.chats.well).toBe(kinds.length - 1);
    expect(replicas.states()[0]).toBe("out");
  });
});

describe("vectors that are none", () => {
  test("are the server's failure", async () => {
    let isOpen = false;
    await using server = recordedVllm({
      instead: ({ path }) =>
        isOpen && path === "/v1/embeddings"
          ? Response.json({ data: [{ index: 0, embedding: [1, 2, 3] }] })
          : undefined,
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using model = await openFarEmbedding(target);
    isOpen = true;
    expect(await rejectionOf(model.engine.embed(["a"], { signal }))).toMatchObject({
      kind: "upstream_failed",
      message: "The server of the model 'far' answered with vectors of 3 numbers, and of 2 before.",
    });
  });

  test("are told from a server that ended, of which its proxy tells", async () => {
    let status = 200;
    await using server = recordedVllm({
      instead: ({ path }) =>
        status !== 200 && path === "/v1/embeddings" ? new Response("no", { status }) : undefined,
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using model = await openFarEmbedding(target);
    const causes = async (each: number): Promise<unknown> => {
      status = each;
      const { kind, cause } = Object(await rejectionOf(model.engine.embed(["a"], { signal })));
      return [kind, cause instanceof Error && cause.message];
    };
    expect(await causes(500)).toEqual(["upstream_failed", false]);
    expect(await causes(502)).toEqual(["upstream_failed", "status 502"]);
  });

  test("name the text at fault as the caller counts", async () => {
    await using server = recordedVllm({
      instead: ({ path, body }) => {
        const at: number = path === "/v1/embeddings" ? Object(body).input.indexOf("bad") : -1;
        if (at === -1) return undefined;
        const error = { message: `input[${at}] is bad.`, param: `input[${at}]`, code: 400 };
        return Response.json({ error }, { status: 400 });
      },
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using model = await openFarEmbedding(target);
    const texts = Array.from({ length: 50 }, (_, at) => (at === 40 ? "bad" : "good"));
    expect(await rejectionOf(model.engine.embed(texts, { signal }))).toMatchObject({
      kind: "invalid_request",
      param: "input[40]",
      message: "input[40] is bad.",
    });
  });
});

describe("numbers of a server that are out of all proportion", () => {
  const huge = 1e300;

  test("do not make a batch of nothing", async () => {
    await using server = recordedTei({
      instead: ({ path }) =>
        path === "/info"
          ? Response.json({ max_client_batch_size: 0, max_input_length: 512, version: "1" })
          : undefined,
    });
    const { target } = targetAt(`${server.url}/v1`);
    await using embedding = await openFarEmbedding(target);
    expect(await embedding.engine.embed(["a", "b"], { signal })).toHaveLength(2);
    await using reranker = await openFarReranker(target);
    expect((await reranker.engine.rank("q", ["a", "b"], { signal })).scores).toHaveLength(2);
  });

  test("are no context, no time and no usage", async () => {
    const usage = { prompt_tokens: huge, completion_tokens: 2 ** 39 };
    await using server = recordedVllm({
      instead: ({ path, body }) => {
        if (path === "/v1/models") {
          const model = { id: vllmModel, created: huge, owned_by: "vllm", max_model_len: huge };
          return Response.json({ data: [model] });
        }
        if (path !== "/v1/chat/completions" || Object(body).messages.length === 0) return undefined;
        return streamOf([frame("Hi", "stop"), `data: ${JSON.stringify({ usage })}\n\n`]);
      },
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using model = await openFarChat(target);
    expect(model.engine.contextSize).toBe(4096);
    expect(model.card.createdAt.getTime()).not.toBeNaN();
    const events = await Array.fromAsync(model.engine.generate(request, { signal }));
    // Estimated, and not nothing, which would be free of every limit.
    const [finish] = events.slice(-1);
    expect(finish).toMatchObject({ usage: { completionTokens: 1 } });
    expect(Object(finish).usage.promptTokens).toBeGreaterThan(0);
  });

  test("of tokens charge nobody for more than was asked for, or for nothing", async () => {
    let usage = {};
    await using far = await scripted(() =>
      streamOf([frame("Hi", "stop"), `data: ${JSON.stringify({ usage })}\n\n`]),
    );
    const counted = async (counts: object, wanted: Partial<GenerationRequest> = {}) => {
      usage = counts;
      return Object((await run(far, wanted)).at(-1)).usage;
    };
    const many = { prompt_tokens: 2e9, completion_tokens: 2e9 };
    const most = await counted(many);
    expect(most.promptTokens).toBeLessThan(5000);
    expect(most.completionTokens).toBe(65_536);
    expect(await counted(many, { maxTokens: 3 })).toMatchObject({ completionTokens: 3 });
    const none = await counted({ prompt_tokens: 0, completion_tokens: 0 });
    expect(none.promptTokens).toBeGreaterThan(0);
    expect(none.completionTokens).toBe(1);
  });

  test("or none at all do not make texts free of every limit", async () => {
    await using server = recordedVllm({
      instead: ({ path }) =>
        path === "/v1/embeddings"
          ? Response.json({
              data: [{ index: 0, embedding: [1, 2] }],
              usage: { prompt_tokens: "5" },
            })
          : undefined,
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using embedding = await openFarEmbedding(target);
    const [text] = await embedding.engine.embed(["Llamas hum."], { signal });
    expect(text?.tokens).toBeGreaterThan(0);
    const [tokens] = await embedding.engine.embed([[1, 2, 3]], { signal });
    expect(tokens?.tokens).toBe(3);
  });

  test("count no more tokens of texts than the texts have bytes", async () => {
    const total = 2 ** 39;
    await using server = recordedVllm({
      instead: ({ path, body }) => {
        const inputs: unknown[] = [Object(body).input ?? Object(body).documents ?? []].flat();
        if (path === "/v1/embeddings") {
          const data = inputs.map((_, index) => ({ index, embedding: [1, 2] }));
          return Response.json({ data, usage: { prompt_tokens: total } });
        }
        if (path !== "/v1/rerank") return undefined;
        const results = inputs.map((_, index) => ({ index, relevance_score: 0.5 }));
        return Response.json({ results, usage: { total_tokens: total } });
      },
    });
    const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
    await using embedding = await openFarEmbedding(target);
    const [embedded] = await embedding.engine.embed(["ab"], { signal });
    expect(embedded?.tokens).toBeLessThan(100);
    await using reranker = await openFarReranker(target);
    expect((await reranker.engine.rank("q", ["a"], { signal })).tokens).toBeLessThan(100);
  });
});
