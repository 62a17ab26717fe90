import { describe, expect, spyOn, test } from "bun:test";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { loadModel } from "../../src/engine/load-model.ts";
import { InProcessHost } from "../../src/node/models/model-hosts.ts";
import { type BackendsToTry, backendsToTry } from "../support/backends-to-try.ts";
import { recordingLog } from "../support/recording-log.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentProgress } from "../support/silence.ts";
import { tempDir } from "../support/temp-dir.ts";
import { neutralSettings, testBackend, testRunners, tinySpec } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

const { signal } = new AbortController();
const loading = { progress: silentProgress, signal };
const stub = join(import.meta.dir, "..", "support", "runner-with-fault.ts");

/** A machine whose accelerator fails in one way. */
function machine(fault: string, accelerators: BackendsToTry, heartbeatTimeoutMs = 30_000) {
  const { log, lines } = recordingLog();
  const program = {
    command: [process.execPath, stub],
    env: { PATH: process.env.PATH ?? "", GGML_TEST_FAULT: fault },
  };
  return { options: { program, accelerators, heartbeatTimeoutMs, log }, lines };
}

const talker = async () =>
  tinySpec({ name: "talker", type: "chat", path: (await tinyModels()).chat });

const triedBackends = (lines: ReturnType<typeof recordingLog>["lines"]) =>
  lines
    .filter(({ message }) => message.startsWith("a backend does not work"))
    .map(({ fields: { backend, next, reason } }) => [backend, next, reason]);

describe("a model whose accelerator fails", () => {
  const crash = "it crashed at its first computation";
  const model = false;
  const all = true;
  const cases: [string, string, boolean | undefined][] = [
    ["abort", crash, model],
    ["abort at once", "it crashed while its library was loaded", all],
    ["nan", "its first results were not numbers", model],
    ["no library", "its library does not load", all],
    // There may be enough of it at the next start.
    ["no memory", "the model cannot be loaded with it", undefined],
  ];
  for (const [fault, reason, isForAll] of cases) {
    test(`is served by the CPU after '${fault}', and each backend was tried once`, async () => {
      const accelerators = backendsToTry("cuda", "vulkan", "cpu");
      const { options, lines } = machine(fault, accelerators);
      await using host = testRunners(options);
      const loaded = await host.loadModel(await talker(), loading);
      expect(loaded.card.settings.nGpuLayers).toBe(0);
      expect(triedBackends(lines)).toEqual([
        ["cuda", "vulkan", reason],
        ["vulkan", "cpu", reason],
      ]);
      const failure = { reason, isForAll };
      const kept = ["cuda", "vulkan"].map((backend) => ({ backend, failure }));
      expect<unknown>(accelerators.kept).toEqual(isForAll === undefined ? [] : kept);
      expect(host.version).toEndWith(`, cpu), not cuda: ${reason}, not vulkan: ${reason}`);
    });
  }

  test("is served by the CPU after a hang, within a bounded time", async () => {
    const accelerators = backendsToTry("cuda", "cpu");
    const { options, lines } = machine("hang", accelerators, 5000);
    await using host = testRunners(options);
    await host.loadModel(await talker(), loading);
    expect(triedBackends(lines)).toEqual([["cuda", "cpu", "it hung at its first computation"]]);
    expect(lines.find(({ level }) => level === "warn")?.fields.detail).toContain(
      "no progress for 20 s",
    );
  });

  test("ends no process that loads it for itself: it is tried in another first", async () => {
    const accelerators = backendsToTry("cuda", "cpu");
    const { options, lines } = machine("abort", accelerators);
    await using host = new InProcessHost({ ...options, engine: { threads: 1 } });
    await using loaded = await host.loadModel(await talker(), loading);
    expect(loaded.card.name).toBe("talker");
    expect(triedBackends(lines)).toEqual([["cuda", "cpu", crash]]);
    expect(host.version).toEndWith(`, cpu), not cuda: ${crash}`);
  });

  test("is not blamed on the backend where its file is at fault", async () => {
    const { options, lines } = machine("no file", backendsToTry("cuda", "cpu"));
    await using host = testRunners(options);
    expect(await rejectionOf(host.loadModel(await talker(), loading))).toMatchObject({
      message: "the model's file is not there",
    });
    expect(triedBackends(lines)).toEqual([]);
  });
});

describe("a model's trial", () => {
  test("finds results that are no numbers, of a chat model and of an embedding model", async () => {
    await using folder = await tempDir();
    const backend = await testBackend();
    const { chat, embedding } = await tinyModels();
    for (const [type, source] of [
      ["chat", chat],
      ["embedding", embedding],
    ] as const) {
      const path = join(folder.path, `${type}.gguf`);
      await Bun.write(path, Bun.file(source));
      await spoilWeights(path);
      const settings = { ...neutralSettings, ctxSize: 0 };
      const spec = tinySpec({ name: "spoilt", type, path, settings });
      expect(await rejectionOf(loadModel(backend, spec, silentProgress))).toMatchObject({
        message: "The model 'spoilt' cannot be loaded: what it computes is not a number",
      });
    }
  });

  test("that fails disposes of its context before the model, which would wait for it for ever", async () => {
    await using folder = await tempDir();
    const backend = await testBackend();
    const path = join(folder.path, "chat.gguf");
    await Bun.write(path, Bun.file((await tinyModels()).chat));
    await spoilWeights(path);
    const order: string[] = [];
    const load = backend.llama.loadModel.bind(backend.llama);
    using loadModelOf = spyOn(backend.llama, "loadModel").mockImplementation(async (options) => {
      const model = await load(options);
      model.onDispose.createListener(() => order.push("model"));
      const create = model.createContext.bind(model);
      spyOn(model, "createContext").mockImplementation(async (settings) => {
        const context = await create(settings);
        context.onDispose.createListener(() => order.push("context"));
        return context;
      });
      return model;
    });
    await rejectionOf(
      loadModel(backend, tinySpec({ name: "spoilt", type: "chat", path }), silentProgress),
    );
    expect(loadModelOf).toHaveBeenCalledTimes(1);
    expect(order).toEqual(["context", "model"]);
  });
});

/** Makes the second half of the weights such that every form of number reads as none. */
async function spoilWeights(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    const { size } = await file.stat();
    const half = Math.floor(size / 2);
    await file.write(new Uint8Array(size - half).fill(0xff), 0, size - half, half);
  } finally {
    await file.close();
  }
}
