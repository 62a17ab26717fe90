import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../../src/config/load.ts";
import type { ModelConfig } from "../../../../src/config/model-schema.ts";
import type { LoadedModel } from "../../../../src/core/models/model.ts";
import type { LoadOptions } from "../../../../src/core/ports/model-host.ts";
import { loadModels } from "../../../../src/node/models/prepare-models.ts";
import { onAbort } from "../../../support/aborted.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { ScriptedChatEngine, ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";
import { silentProgress } from "../../../support/silence.ts";
import { chatModel, embeddingModel } from "../../../support/test-models.ts";
import { waitFor } from "../../../support/wait-for.ts";

function configured(...names: readonly string[]): ModelConfig[] {
  const models = names.map((name) => {
    const type = name.startsWith("chat") ? "chat" : "embedding";
    return `[[models]]\nname = "${name}"\ntype = "${type}"\nsource = "./${name}.gguf"\n`;
  });
  const file = { path: "c.toml", text: models.join("") };
  return loadConfig({ file, env: {}, flags: {} }).models;
}

/** Loads that end when the test says so; `events` has what happened, in order. */
function loading(...names: readonly string[]) {
  const events: string[] = [];
  const gates = new Map(names.map((name) => [name, Promise.withResolvers<void>()]));
  const load = async (model: ModelConfig, { signal }: LoadOptions): Promise<LoadedModel> => {
    events.push(`begin ${model.name}`);
    const gate = gates.get(model.name);
    onAbort(signal, () => gate?.reject(signal.reason));
    await gate?.promise;
    return model.type === "chat"
      ? chatModel(model.name, new ScriptedChatEngine())
      : embeddingModel(model.name, new ScriptedEmbeddingEngine());
  };
  const { signal } = new AbortController();
  const done = loadModels(
    { load },
    configured(...names),
    { progress: silentProgress, signal },
    {
      onLoaded: ({ card }) => void events.push(`loaded ${card.name}`),
      onOpen: () => void events.push("open"),
    },
  );
  return { events, done, gate: (name: string) => gates.get(name) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the models of a node", () => {
  test("are loaded side by side, of each type one after the other; chat opens first", async () => {
    const { events, done, gate } = loading("embed-1", "chat-1", "chat-2");
    expect(events).toEqual(["begin chat-1"]);
    await waitFor("the other type to begin", () => events.length > 1);
    expect(events).toEqual(["begin chat-1", "begin embed-1"]);
    gate("chat-1")?.resolve();
    await turn();
    gate("chat-2")?.resolve();
    await turn();
    expect(events.slice(2)).toEqual(["loaded chat-1", "begin chat-2", "loaded chat-2", "open"]);
    gate("embed-1")?.resolve();
    await done;
    expect(events.at(-1)).toBe("loaded embed-1");
  });

  test("without a chat model open when all are loaded", async () => {
    const { events, done, gate } = loading("embed-1");
    gate("embed-1")?.resolve();
    await done;
    expect(events).toEqual(["begin embed-1", "loaded embed-1", "open"]);
  });

  test("of which one fails are not loaded further, and the failure is told", async () => {
    const { events, done, gate } = loading("chat-1", "chat-2", "embed-1");
    const failure = new Error("no such file");
    await waitFor("both to begin", () => events.length > 1);
    gate("embed-1")?.reject(failure);
    expect(await rejectionOf(done)).toBe(failure);
    expect(events).toEqual(["begin chat-1", "begin embed-1"]);
  });
});
