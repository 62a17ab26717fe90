import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatModel, EmbeddingModel, RerankingModel } from "../../src/core/models/model.ts";
import type {
  GenerationEvent,
  GenerationRequest,
  TokenLogprobs,
} from "../../src/core/ports/chat-engine.ts";
import { startGrammar } from "../../src/engine/grammar/grammars.ts";
import { type Backend, openBackend } from "../../src/engine/load-backend.ts";
import { loadModel } from "../../src/engine/load-model.ts";
import { StepThreads } from "../../src/engine/machine/steps.ts";
import type { CInterface } from "../../src/engine/native/c-interface.ts";
import { NativeChatContext } from "../../src/engine/native/contexts.ts";
import { DirectContext } from "../../src/engine/native/direct-context.ts";
import { greedy } from "../support/greedy.ts";
import { silentLog, silentProgress } from "../support/silence.ts";
import { neutralSettings, tinySpec } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

const { signal } = new AbortController();

/** The tiny models, driven through llama.cpp's C interface or through node-llama-cpp. */
interface Way extends AsyncDisposable {
  backend: Backend;
  chat: ChatModel;
  embedding: EmbeddingModel;
  reranker: RerankingModel;
}

/** One thread unless told otherwise: two are many times slower beside a busy program. */
async function way(
  nativeSteps: boolean,
  threads = 1,
  spoil: (c: CInterface) => void = () => {},
): Promise<Way> {
  await using resources = new AsyncDisposableStack();
  const options = { threads, backend: "cpu", servesModelsAlone: true } as const;
  const backend = resources.use(await openBackend({ ...options, nativeSteps, log: silentLog }));
  if (backend.c !== undefined) spoil(backend.c);
  const files = await tinyModels();
  const settings = { ...neutralSettings, ctxSize: 0 };
  const load = async (type: "chat" | "embedding" | "reranker") => {
    const spec = tinySpec({ name: "tiny", type, path: files[type], settings });
    return resources.use(await loadModel(backend, spec, silentProgress));
  };
  const [chat, embedding] = [await load("chat"), await load("embedding")];
  const reranker = await load("reranker");
  if (chat.type !== "chat" || embedding.type !== "embedding" || reranker.type !== "reranker") {
    throw new Error("not those models");
  }
  const owned = resources.move();
  return { backend, chat, embedding, reranker, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

let native: Way;
let addon: Way;
beforeAll(async () => {
  native = await way(true);
  addon = await way(false);
});
afterAll(async () => {
  await native[Symbol.asyncDispose]();
  await addon[Symbol.asyncDispose]();
});

async function answer({ chat }: Way, request: Partial<GenerationRequest>): Promise<string> {
  const whole = { messages: [{ role: "user", content: "Hello" }], sampling: greedy, maxTokens: 40 };
  const events: GenerationEvent[] = await Array.fromAsync(
    chat.engine.generate({ ...whole, ...request } as GenerationRequest, { signal, caller: "a" }),
  );
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

/** What may be wrong with the interface. */
const faults: Record<string, (c: CInterface) => void> = {
  "samples another token": (c) => {
    c.sampleAt = () => -1;
  },
  "has no memory": (c) => {
    c.step = () => {
      throw new Error("there is no memory for a batch");
    };
  },
  "fails once it has computed": (c) => {
    const make = c.step.bind(c);
    c.step = (...sizes) => {
      const step = make(...sizes);
      const run = step.run.bind(step);
      step.run = async (...size) => {
        await run(...size);
        throw new Error("llama.cpp cannot compute a batch");
      };
      return step;
    };
  },
  "computes nothing": (c) => {
    const make = c.step.bind(c);
    c.step = (...sizes) => {
      const step = make(...sizes);
      step.run = () => Promise.reject(new Error("llama.cpp cannot compute a batch"));
      return step;
    };
  },
};

const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

/** Those that fit no grammar come in any order. */
const tokensOf = ({ token, top }: TokenLogprobs): string[] => [
  token,
  ...top.map((each) => (each.logprob > -9999 ? each.token : "")),
];

describe("steps through llama.cpp's C interface", () => {
  test.skipIf(process.platform !== "linux")("are used where they work, and said where not", () => {
    expect(native.backend.c).toBeDefined();
    expect(native.backend.version).not.toContain("C interface");
    expect(addon.backend.c).toBeUndefined();
    expect(addon.backend.version).toContain("without its C interface: native_steps is false");
  });

  test("give the answers that node-llama-cpp gives", async () => {
    const biased = new Map([[300, 5]]);
    const requests: Partial<GenerationRequest>[] = [
      {},
      { logitBias: biased },
      { sampling: { ...greedy, repeatPenalty: 1.3, repeatLastN: 16 } },
      { sampling: { ...greedy, frequencyPenalty: 1, presencePenalty: 0.5, repeatLastN: -1 } },
      { sampling: { ...greedy, dryMultiplier: 0.8, dryBase: 1.75, dryAllowedLength: 2 } },
      { sampling: { ...greedy, temperature: 0.8 }, seed: 7 },
      { sampling: { ...greedy, temperature: 1, topK: 20, topP: 0.9, minP: 0.05 }, seed: 7 },
    ];
    for (const request of requests) {
      expect(await answer(native, request)).toBe(await answer(addon, request));
    }
  });

  test("give the answers under a schema that node-llama-cpp gives", async () => {
    const items = { enum: ["one", "two", "three"] };
    const schema = { type: "array", items, minItems: 3, maxItems: 5 };
    for (const more of [{ temperature: 0 }, { temperature: 1 }, { temperature: 1, topK: 5 }]) {
      const request = { format: { schema }, sampling: { ...greedy, ...more }, seed: 5 };
      const found = await answer(native, request);
      expect(JSON.parse(found).length).toBeGreaterThan(2);
      expect(found).toBe(await answer(addon, request));
    }
  });

  test.skipIf(process.platform !== "linux")("go back in a grammar", async () => {
    const { llama, c } = native.backend;
    if (c === undefined) throw new Error("it works here");
    await using model = await llama.loadModel({ modelPath: (await tinyModels()).chat });
    await using context = await model.createContext({ contextSize: 64, batchSize: 8 });
    using direct = new DirectContext(c, context, model, { mayWait: false });
    const stepThreads = new StepThreads({ size: 0, budget: 1 });
    const chat = new NativeChatContext(context, model, { stepThreads, direct });
    const sampler = chat.makeSampler();
    using grammar = await startGrammar(model, { format: { schema: { const: "up" } } }, direct);
    const tokens = model.tokenize("a");
    sampler.configure({ temperature: 0, seed: 0 }, { grammar });
    const next = async () => {
      const part = { sequence: 0, position: 0, tokens: tokens.slice(0, 1), output: true, sampler };
      const { outputs } = await chat.decode([part]);
      chat.truncate(0, 0);
      return outputs.flatMap(({ sampled = [] }) => sampled.map(({ token }) => token));
    };
    const [quote, first, second] = [await next(), await next(), await next()];
    grammar.leave(quote);
    grammar.enter();
    expect([await next(), await next()]).toEqual([first, second]);
    sampler.dispose();
    chat.releaseThreads();
  });

  test("give the log probabilities that node-llama-cpp gives", async () => {
    const logprobsOf = async ({ chat }: Way, request: Partial<GenerationRequest>) => {
      const messages = [{ role: "user", content: "Hello" }] as const;
      const whole = { messages, sampling: greedy, maxTokens: 12, ...request };
      const events = await Array.fromAsync(chat.engine.generate(whole, { signal, caller: "a" }));
      return events.flatMap((event) => (event.type === "text" ? (event.logprobs ?? []) : []));
    };
    const schema = { enum: ["one", "two"] };
    const drawn = { ...greedy, temperature: 0.7, topK: 40, topP: 0.9 };
    const requests: Partial<GenerationRequest>[] = [
      { topLogprobs: 0 },
      { topLogprobs: 5 },
      { topLogprobs: 20, sampling: drawn, seed: 3 },
      { topLogprobs: 3, format: { schema } },
    ];
    for (const request of requests) {
      const [found, wanted] = [await logprobsOf(native, request), await logprobsOf(addon, request)];
      expect(wanted.length).toBeGreaterThan(0);
      expect(found.map(tokensOf)).toEqual(wanted.map(tokensOf));
      for (const [at, { logprob, top }] of found.entries()) {
        expect(logprob).toBeCloseTo(wanted[at]?.logprob ?? 1, 3);
        expect(top.at(-1)?.logprob ?? 0).toBeCloseTo(wanted[at]?.top.at(-1)?.logprob ?? 0, 3);
      }
    }
  });

  test("give the scores that node-llama-cpp gives", async () => {
    const passages = ["a passage", "another one, which is longer", "", "zzz"];
    const scores = async ({ reranker }: Way) =>
      (await reranker.engine.rank("a question", passages, { signal })).scores;
    const expected = await scores(addon);
    for (const [at, score] of (await scores(native)).entries()) {
      expect(score).toBeCloseTo(expected[at] ?? -1, 3);
    }
  });

  test("give a seeded answer again, also beside others", async () => {
    const seeded = { sampling: { ...greedy, temperature: 1 }, seed: 11 };
    const alone = await answer(native, seeded);
    const [beside] = await Promise.all([
      answer(native, seeded),
      answer(native, { sampling: { ...greedy, temperature: 1 } }),
    ]);
    expect(beside).toBe(alone);
  });

  test.skipIf(process.platform !== "linux").each(Object.entries(faults))(
    "are given up where the interface %s, and node-llama-cpp answers",
    async (_, spoil) => {
      await using without = await way(true, 2, spoil);
      expect(without.backend.c).toBeUndefined();
      expect(without.backend.version).toMatch(/without its C interface: \S/);
      const request = { maxTokens: 3 };
      expect(await answer(without, request)).toBe(await answer(addon, request));
      const [found] = await without.embedding.engine.embed(["A text."], { signal });
      expect(found?.tokens).toBeGreaterThan(0);
      const { scores } = await without.reranker.engine.rank("a", ["b"], { signal });
      expect(scores).toHaveLength(1);
    },
  );

  for (const type of ["chat", "embedding"] as const) {
    test
      .skipIf(process.platform !== "linux")
      .each(["fails once it has computed", "computes nothing"])(
      `leave no threads of a model for ${type} where the interface %s`,
      async (fault) => {
        await using resources = new AsyncDisposableStack();
        const options = { threads: 2, backend: "cpu", servesModelsAlone: true } as const;
        const opened = await openBackend({ ...options, nativeSteps: true, log: silentLog });
        const { c } = resources.use(opened);
        if (c === undefined) throw new Error("it works here");
        const open = new Set<object>();
        const make = c.step.bind(c);
        c.step = (...sizes) => {
          const step = make(...sizes);
          const free = step[Symbol.dispose].bind(step);
          step[Symbol.dispose] = () => {
            open.delete(step);
            free();
          };
          open.add(step);
          return step;
        };
        faults[fault]?.(c);
        const path = (await tinyModels())[type];
        const settings = { ...neutralSettings, ctxSize: 0 };
        const spec = tinySpec({ name: "tiny", type, path, settings });
        resources.use(await loadModel(opened, spec, silentProgress));
        expect(opened.c).toBeUndefined();
        expect(open.size).toBe(0);
      },
    );
  }

  test("run on threads that stay", async () => {
    await using two = await way(true, 2);
    expect(two.backend.version).toBe(native.backend.version);
    const request = { maxTokens: 3 };
    expect(await answer(two, request)).toBe(await answer(native, request));
    const [found] = await two.embedding.engine.embed(["A text."], { signal });
    const [same] = await native.embedding.engine.embed(["A text."], { signal });
    if (found === undefined || same === undefined) throw new Error("nothing was embedded");
    expect(cosine(found.vector, same.vector)).toBeGreaterThan(0.999);
  });

  test("embed many texts together as each of them alone", async () => {
    const texts = Array.from({ length: 40 }, (_, at) => `Text ${at} ${"of words ".repeat(at % 7)}`);
    const together = await native.embedding.engine.embed(texts, { signal });
    for (const [at, text] of texts.entries()) {
      const [alone] = await addon.embedding.engine.embed([text], { signal });
      const found = together[at];
      if (alone === undefined || found === undefined) throw new Error("nothing was embedded");
      expect(cosine(found.vector, alone.vector)).toBeGreaterThan(0.999);
      expect(found.tokens).toBe(alone.tokens);
    }
  });
});
