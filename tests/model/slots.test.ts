import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatModel } from "../../src/core/models/model.ts";
import type {
  CallOptions,
  ChatMessage,
  GenerationEvent,
  GenerationRequest,
  TokenUsage,
} from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { rejectionOf } from "../support/rejection.ts";
import { neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";
import { waitFor } from "../support/wait-for.ts";

const parallel = 2;
const maxQueue = 3;
let model: ChatModel;

beforeAll(async () => {
  const settings = { ...neutralSettings, ctxSize: 1024, batchSize: 64 };
  model = await tinyChatModel({ parallel, maxQueue, settings });
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
});

/** The end token is banned, so that an answer is as long as it may be. */
const endless = { sampling: greedy, logitBias: new Map([[2, -100]]) };
const user = (content: string): ChatMessage => ({ role: "user", content });
const ask = (messages: ChatMessage[], maxTokens = 4): GenerationRequest => ({
  messages,
  maxTokens,
  ...endless,
});

async function run(
  request: GenerationRequest,
  options: Partial<CallOptions> = {},
): Promise<{ text: string; usage: TokenUsage }> {
  const signal = options.signal ?? new AbortController().signal;
  const events = await Array.fromAsync(model.engine.generate(request, { ...options, signal }));
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("no finish");
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { text, usage: last.usage };
}

/** A generation that holds its slot until it is let go. */
async function hold(content: string, caller = ""): Promise<AsyncIterator<GenerationEvent>> {
  const { signal } = new AbortController();
  const iterator = model.engine
    .generate(ask([user(content)], 500), { signal, caller })
    [Symbol.asyncIterator]();
  await iterator.next();
  return iterator;
}

const release = async (held: readonly AsyncIterator<GenerationEvent>[]): Promise<void> => {
  for (const iterator of held) await iterator.return?.();
};

/**
 * Some turns of the event loop, after which requests have rendered their prompts and wait in the queue:
 * a busy machine has one of them yield meanwhile, and the next be there before it.
 */
const prompts = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
};

describe("slots", () => {
  test("reuse the first turn in the second, also when another conversation ran between", async () => {
    const first = [user(`A conversation about llamas ${"l".repeat(100)}`)];
    const one = await run(ask(first));
    await run(ask([user(`Something else ${"e".repeat(100)}`)]));
    const turns: ChatMessage[] = [
      ...first,
      { role: "assistant", content: one.text },
      user("More?"),
    ];
    const { usage } = await run(ask(turns));
    // All of the first prompt but its last token; the answer may be tokenised another way.
    expect(usage.cachedTokens).toBeGreaterThanOrEqual(one.usage.promptTokens - 1);
    expect(usage.promptTokens).toBeGreaterThan(usage.cachedTokens);
  });

  test("copy a common system prompt from a slot that is busy with it", async () => {
    const system: ChatMessage = { role: "system", content: `Rules: ${"r".repeat(200)}` };
    const { signal } = new AbortController();
    const busy = model.engine
      .generate(ask([system, user("One")], 500), { signal })
      [Symbol.asyncIterator]();
    await busy.next();
    const { usage } = await run(ask([system, user("Two")]));
    await release([busy]);
    expect(usage.cachedTokens).toBeGreaterThan(200);
  });

  test("tell nobody by what is cached what was asked in another scope", async () => {
    const prompt = [user(`A secret ${"s".repeat(100)}`)];
    const cached = async (prefixScope?: string): Promise<number> => {
      const { usage } = await run(ask(prompt), prefixScope === undefined ? {} : { prefixScope });
      return usage.cachedTokens;
    };
    const [first, own, others, nobodys] = [
      await cached("ada"),
      await cached("ada"),
      await cached("bob"),
      await cached(),
    ];
    expect([first, others, nobodys]).toEqual([0, 0, 0]);
    expect(own).toBeGreaterThan(100);
  });

  test("evaluate one prompt once for several answers that start together", async () => {
    const prompt = [user(`Together ${"t".repeat(150)}`)];
    const answers = await Promise.all([run(ask(prompt)), run(ask(prompt))]);
    const [fewest = 0, most = 0] = answers
      .map(({ usage }) => usage.cachedTokens)
      .sort((a, b) => a - b);
    expect(fewest).toBeLessThan(20);
    expect(most).toBeGreaterThan(150);
    expect(answers[0]?.text).toBe(answers[1]?.text ?? "");
  });

  test("give a seeded answer again, whatever they hold by then", async () => {
    const seeded = { ...ask([user(`Seeded ${"s".repeat(60)}`)], 24), seed: 7 };
    const hot = { ...seeded, sampling: { ...greedy, temperature: 1 } };
    const first = await run(hot);
    await run(ask([user(`Seeded ${"s".repeat(40)} and something else`)]));
    const again = await run(hot);
    expect(again.text).toBe(first.text);
    expect(again.usage.cachedTokens).toBe(0);
  });

  test("share one prompt between seeded answers that run together", async () => {
    const seeded = ask([user(`Shared ${"h".repeat(100)}`)]);
    const answers = await Promise.all([1, 2].map((seed) => run({ ...seeded, seed })));
    const cached = answers.map(({ usage }) => usage.cachedTokens).sort((a, b) => a - b);
    expect(cached[0]).toBe(0);
    expect(cached[1]).toBe((answers[0]?.usage.promptTokens ?? 0) - 1);
  });

  test("refuse at once what the queue has no place for, and lose nothing that was accepted", async () => {
    const held = await Promise.all([hold("a"), hold("b")]);
    const accepted: ReturnType<typeof run>[] = [];
    for (const content of ["c", "d", "e"]) {
      accepted.push(run(ask([user(content)])));
      await prompts();
    }
    const refused = await rejectionOf(run(ask([user("f")])));
    expect(refused).toMatchObject({ kind: "overloaded" });
    await release(held);
    for (const { usage } of await Promise.all(accepted)) expect(usage.completionTokens).toBe(4);
  });

  test("are free again after a caller left during its prompt's evaluation", async () => {
    const leave = new AbortController();
    const long = run(ask([user("p".repeat(900))]), { signal: leave.signal });
    leave.abort(new Error("gone"));
    expect(await rejectionOf(long)).toMatchObject({ message: "gone" });
    const after = await Promise.all([run(ask([user("q")])), run(ask([user("r")]))]);
    expect(after.map(({ usage }) => usage.completionTokens)).toEqual([4, 4]);
  });

  test("are free again after a caller left while it waited for another's prompt to copy", async () => {
    const prompt = [user("w".repeat(900))];
    const [stay, leave] = [new AbortController(), new AbortController()];
    const first = run(ask(prompt, 200), { signal: stay.signal });
    // It leaves once it is scheduled on its slot, before the first has evaluated its prompt.
    const onStart = (): void => void setImmediate(() => leave.abort(new Error("gone")));
    const second = run(ask(prompt), { signal: leave.signal, onStart });
    expect(await rejectionOf(second)).toMatchObject({ message: "gone" });
    // The first still holds the other slot.
    expect((await run(ask([user("x")]))).usage.completionTokens).toBe(4);
    stay.abort(new Error("enough"));
    // It may have come to its end before.
    await Promise.allSettled([first]);
  });

  test("let others go on while a long prompt is evaluated", async () => {
    const busy = await hold("talking");
    const long = run(ask([user("z".repeat(900))], 1));
    let tokens = 0;
    let ended = false;
    void long.then(() => {
      ended = true;
    });
    while (!ended) {
      if ((await busy.next()).done === true) throw new Error("The answer ended before the prompt");
      tokens++;
    }
    await release([busy]);
    // 900 tokens in pieces of 64: a token after each piece at the least.
    expect(tokens).toBeGreaterThan(5);
  });

  // These come last: after a request of another caller, none gets both slots for a minute.
  test("let one caller fill the queue, and give of its places to another who comes", async () => {
    const held = await Promise.all([hold("a", "one"), hold("b", "two")]);
    const mine: ReturnType<typeof run>[] = [];
    for (let at = 0; at < maxQueue; at++) {
      mine.push(run(ask([user(`mine ${at}`)]), { caller: "ada" }));
      await prompts();
    }
    const others = run(ask([user("other")]), { caller: "grace" });
    expect(await rejectionOf(mine[maxQueue - 1] ?? others)).toMatchObject({ kind: "overloaded" });
    expect(await rejectionOf(run(ask([user("more")]), { caller: "ada" }))).toMatchObject({
      kind: "overloaded",
    });
    await release(held);
    const served = await Promise.all([...mine.slice(0, -1), others]);
    expect(served.map(({ usage }) => usage.completionTokens)).toEqual(served.map(() => 4));
  });

  test("serve callers in turn", async () => {
    const held = await Promise.all([hold("a", "one"), hold("b", "two")]);
    const served: string[] = [];
    const waiting = (["x", "x", "y"] as const).map(async (caller, at) => {
      await run(ask([user(`${caller}${at}`)]), { caller });
      served.push(caller);
    });
    await prompts();
    // One slot stays held, so that they are served one by one.
    await release(held.slice(0, 1));
    await waitFor("the first two", () => served.length >= 2);
    expect(served.slice(0, 2).sort()).toEqual(["x", "y"]);
    await release(held.slice(1));
    await Promise.all(waiting);
  });
});
