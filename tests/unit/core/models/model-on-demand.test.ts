import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import type { LoadedModel } from "../../../../src/core/models/model.ts";
import { type KnownModel, modelOnDemand } from "../../../../src/core/models/model-on-demand.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import {
  finish,
  ScriptedChatEngine,
  ScriptedEmbeddingEngine,
  ScriptedReranker,
} from "../../../support/scripted-engines.ts";
import { card, chatModel, embeddingModel, rerankingModel } from "../../../support/test-models.ts";

const { signal } = new AbortController();
const known: KnownModel = {
  ...{ type: "chat", card: card("m", "chat"), fingerprint: "fp_a", contextSize: 128 },
};
const request = { messages: [], sampling: card("m", "chat").settings, topK: 0 } as never;

/** A model whose loads end when the test says so. */
function onDemand({ mostWaiting = 8 } = {}) {
  const engine = new ScriptedChatEngine();
  const loads: PromiseWithResolvers<LoadedModel>[] = [];
  const described: LoadedModel[] = [];
  const model = modelOnDemand({
    ...{ known, mostWaiting, onLoaded: (loaded) => void described.push(loaded) },
    load: () => {
      const load = Promise.withResolvers<LoadedModel>();
      loads.push(load);
      return load.promise;
    },
  });
  if (model.type !== "chat") throw new Error("not a chat model");
  const ask = async (caller = ""): Promise<string[]> => {
    engine.script({ type: "text", text: "Hi" }, finish);
    const events = await Array.fromAsync(model.engine.generate(request, { signal, caller }));
    return events.map(({ type }) => type);
  };
  return { model, engine, loads, described, ask };
}

describe("a model on demand", () => {
  test("is not waited for by who gave up unloading it while it loads", async () => {
    const { model, loads } = onDemand();
    const client = new AbortController();
    const loading = model.load?.(signal);
    const unloading = model.unload?.(client.signal);
    client.abort(new Error("left"));
    await expect(unloading).rejects.toThrow("left");
    loads[0]?.resolve(chatModel("m", new ScriptedChatEngine()));
    await loading;
  });

  test("is known before it is loaded, and loaded once by all calls that wait", async () => {
    const { model, engine, loads, described, ask } = onDemand();
    expect(model).toMatchObject({
      card: known.card,
      fingerprint: "fp_a",
      engine: { contextSize: 128 },
    });
    expect([model.residence?.().state, loads.length]).toEqual(["unloaded", 0]);
    const answers = [ask(), ask()];
    expect([model.residence?.().state, loads.length]).toEqual(["loading", 1]);
    const own = { ...card("m", "chat"), ownedBy: "its maker" };
    loads[0]?.resolve(chatModel("m", engine, own));
    expect(await Promise.all(answers)).toEqual([
      ["text", "finish"],
      ["text", "finish"],
    ]);
    expect([model.residence?.().state, loads.length]).toEqual(["loaded", 1]);
    expect(described).toEqual([model]);
    expect(model.card.ownedBy).toBe("its maker");
  });

  test("lets a bounded number of calls wait", async () => {
    const { engine, loads, ask } = onDemand({ mostWaiting: 1 });
    const first = ask();
    expect(await rejectionOf(ask())).toMatchObject({ kind: "overloaded" });
    loads[0]?.resolve(chatModel("m", engine));
    expect(await first).toEqual(["text", "finish"]);
  });

  test("refuses calls of the caller with the most before those of another", async () => {
    const { model, engine, loads, ask } = onDemand({ mostWaiting: 2 });
    const first = ask("ada");
    const last = model.engine.countTokens([], [], { signal, caller: "ada" });
    const other = ask("bob");
    expect(await rejectionOf(last)).toMatchObject({ kind: "overloaded" });
    expect(await rejectionOf(ask("bob"))).toMatchObject({ kind: "overloaded" });
    loads[0]?.resolve(chatModel("m", engine));
    expect([await first, await other]).toEqual([
      ["text", "finish"],
      ["text", "finish"],
    ]);
  });

  test("lets a caller leave, and loads on for the others", async () => {
    const { model, engine, loads, ask } = onDemand();
    const client = new AbortController();
    const leaving = model.load?.(client.signal);
    const other = ask();
    client.abort(new Error("gone"));
    expect(await rejectionOf(leaving ?? Promise.resolve())).toMatchObject({ message: "gone" });
    loads[0]?.resolve(chatModel("m", engine));
    expect(await other).toEqual(["text", "finish"]);
    expect(loads).toHaveLength(1);
  });

  test("says why it could not be loaded, for a while without trying again", async () => {
    const { model, loads, ask } = onDemand();
    const asked = ask();
    loads[0]?.reject(new NodeError("unavailable", "The disk is gone."));
    for (const failed of [asked, ask()]) {
      expect(await rejectionOf(failed)).toMatchObject({
        ...{ kind: "unavailable", message: "The disk is gone.", param: "model" },
        retryAfterMs: 5000,
      });
    }
    expect(loads).toHaveLength(1);
    expect(model.residence?.()).toEqual({ state: "unloaded", error: "The disk is gone." });
    expect(model.problem).toBeUndefined();
  });

  test("is loaded and unloaded by request, and gone once it is disposed of", async () => {
    const { model, engine, loads, ask } = onDemand();
    const done: string[] = [];
    const loading = model.load?.(signal);
    loads[0]?.resolve({
      ...chatModel("m", engine),
      load: async () => void done.push("load"),
      unload: async () => void done.push("unload"),
      [Symbol.asyncDispose]: async () => void done.push("dispose"),
    });
    await loading;
    await model.unload?.(signal);
    await model[Symbol.asyncDispose]();
    expect(done).toEqual(["load", "unload", "dispose"]);
    expect(await rejectionOf(ask())).toMatchObject({ kind: "model_not_found" });
  });

  test("makes vectors and ranks, after its first call has loaded it", async () => {
    const vectors = modelOnDemand({
      known: {
        ...{ type: "embedding", card: card("v", "embedding"), fingerprint: "fp_b" },
        ...{ dimension: 2, maxTokens: 64, vocabularySize: 9 },
      },
      ...{ mostWaiting: 1, onLoaded: () => {} },
      load: async () => embeddingModel("v", new ScriptedEmbeddingEngine()),
    });
    if (vectors.type !== "embedding") throw new Error("not an embedding model");
    expect(await vectors.engine.embed(["a"], { signal })).toHaveLength(1);
    expect(vectors.identity.fingerprint).toBe("weights");
    const judge = modelOnDemand({
      known: { type: "reranker", card: card("r", "reranker"), fingerprint: "fp_c", maxTokens: 64 },
      ...{ mostWaiting: 1, onLoaded: () => {} },
      load: async () => rerankingModel("r", new ScriptedReranker()),
    });
    if (judge.type !== "reranker") throw new Error("not a reranking model");
    expect((await judge.engine.rank("a", ["b"], { signal })).scores).toHaveLength(1);
  });
});
