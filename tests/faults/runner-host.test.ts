import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../src/core/log.ts";
import type { ChatModel, EmbeddingModel } from "../../src/core/models/model.ts";
import type { GenerationEvent } from "../../src/core/ports/chat-engine.ts";
import type { ModelSpec } from "../../src/core/ports/model-host.ts";
import type { RunnerHost, RunnerHostOptions } from "../../src/runner/runner-host.ts";
import { ProcessEnded } from "../../src/runner/runner-process.ts";
import { greedy } from "../support/greedy.ts";
import { hasEnded, isAlive, runnerOf } from "../support/process-tree.ts";
import { recordingLog } from "../support/recording-log.ts";
import { rejectionOf } from "../support/rejection.ts";
import { silentProgress } from "../support/silence.ts";
import { skipUnless } from "../support/skip-reason.ts";
import { canStopThreads, stopComputing } from "../support/stopped-threads.ts";
import { tempDir } from "../support/temp-dir.ts";
import { neutralSettings, testRunners, tinySpec } from "../support/tiny-engines.ts";
import { save, tinyLlama, tinyModels } from "../support/tiny-models.ts";
import { waitFor } from "../support/wait-for.ts";

const { signal } = new AbortController();
const loading = { progress: silentProgress, signal };
const settings = { ...neutralSettings, ctxSize: 2048 };

let resources = new AsyncDisposableStack();
afterEach(async () => {
  await resources.disposeAsync();
  resources = new AsyncDisposableStack();
});

interface Started {
  host: RunnerHost;
  restarts: string[];
  log: ReturnType<typeof recordingLog>["lines"];
}

/** `onReload`: called when a new process is there, before it has been given any call. */
function startRunners(
  options: Partial<RunnerHostOptions> = {},
  onReload?: (host: RunnerHost) => void,
): Started {
  const { log, lines } = recordingLog();
  const restarts: string[] = [];
  const info: Log["info"] = (message, fields) => {
    log.info(message, fields);
    if (message === "a model was loaded again") onReload?.(host);
  };
  const host = testRunners({
    log: { ...log, info },
    onRestart: (model, { hung }) => restarts.push(hung ? `${model} hung` : model),
    ...options,
  });
  return { host, restarts, log: lines };
}

/** Those of one test. */
function runners(...options: Parameters<typeof startRunners>): Started {
  const started = startRunners(...options);
  resources.use(started.host);
  return started;
}

async function chatOn(
  host: RunnerHost,
  path?: string,
  rest: Partial<ModelSpec> = {},
): Promise<ChatModel> {
  const { chat } = await tinyModels();
  const spec = tinySpec({ name: "talker", type: "chat", path: path ?? chat, settings, ...rest });
  const model = await host.loadModel(spec, loading);
  if (model.type !== "chat") throw new Error("not a chat model");
  return model;
}

async function embeddingOn(host: RunnerHost): Promise<EmbeddingModel> {
  const { embedding } = await tinyModels();
  const none = { ...neutralSettings, ctxSize: 0 };
  const spec = tinySpec({ name: "mapper", type: "embedding", path: embedding, settings: none });
  const model = await host.loadModel(spec, loading);
  if (model.type !== "embedding") throw new Error("not an embedding model");
  return model;
}

const pidOf = (host: RunnerHost, name: string): number | undefined =>
  host.processes().find(({ model }) => model === name)?.pid;

function kill(host: RunnerHost, name: string, how: NodeJS.Signals = "SIGKILL"): number {
  const pid = pidOf(host, name);
  if (pid === undefined) throw new Error(`'${name}' has no process`);
  process.kill(pid, how);
  return pid;
}

const request = (content: string, maxTokens: number) => ({
  messages: [{ role: "user", content }] as const,
  sampling: { ...greedy, temperature: 1 },
  maxTokens,
  // Without the end token an answer is as long as it may be.
  logitBias: new Map([[2, -100]]),
});

/** An answer after its first event: of more than is generated before the next are read. */
async function underway(model: ChatModel): Promise<AsyncIterator<GenerationEvent>> {
  const iterator = model.engine.generate(request("Go on", 300), { signal })[Symbol.asyncIterator]();
  await iterator.next();
  return iterator;
}

async function drain(iterator: AsyncIterator<GenerationEvent>): Promise<void> {
  while ((await iterator.next()).done !== true);
}

describe("a runner whose threads hang while its loop turns", () => {
  const stub = join(import.meta.dir, "..", "support", "runner-with-fault.ts");
  const withFault = (env: Record<string, string>) => ({
    program: { command: [process.execPath, stub], env: { PATH: process.env.PATH ?? "", ...env } },
  });

  test("is noticed, says so, is ended and started again; what it was at fails", async () => {
    await using folder = await tempDir();
    const stuck = join(folder.path, "stuck");
    const { host, restarts, log } = runners({
      ...withFault({ GGML_TEST_STUCK: stuck }),
      stepTimeoutMs: 2000,
    });
    const model = await chatOn(host);
    const open = await underway(model);
    await writeFile(stuck, "");
    const problems = new Set<string | undefined>();
    const failure = rejectionOf(drain(open));
    await waitFor("the end of the process", () => {
      problems.add(model.problem?.());
      return restarts.length > 0;
    });
    expect(await failure).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("The process that runs the model 'talker' ended"),
    });
    expect([...problems].join(" ")).toContain("The model 'talker' has not finished a step for");
    expect(restarts).toEqual(["talker hung"]);
    expect(log.find(({ level }) => level === "error")?.fields).toMatchObject({
      how: "a step did not end for 2 s",
      requests_lost: 1,
    });
    const events = await Array.fromAsync(model.engine.generate(request("Again", 3), { signal }));
    expect(events.at(-1)?.type).toBe("finish");
  });

  const isLeftOut = skipUnless(canStopThreads(), "threads of a process cannot be stopped (ptrace)");
  test.skipIf(isLeftOut).each([
    // Short steps are computed by the loop, and through node-llama-cpp all by workers.
    ["loop", true],
    ["workers", false],
  ] as const)(
    "is given up when its %s is stopped, whether or not a signal ends it",
    async (where, nativeSteps) => {
      const engine = { threads: 1, nativeSteps };
      const { host, restarts } = runners({ stepTimeoutMs: 2000, engine });
      const model = await chatOn(host);
      const open = await underway(model);
      const pid = pidOf(host, "talker") ?? 0;
      expect(stopComputing(pid, where)).toBeGreaterThan(0);
      expect(await rejectionOf(drain(open))).toMatchObject({ kind: "unavailable" });
      expect(restarts).toEqual(["talker hung"]);
      // No signal ends a process whose workers are stopped in this way.
      if (where === "workers") expect(isAlive(pid)).toBe(true);
      const events = await Array.fromAsync(model.engine.generate(request("Again", 3), { signal }));
      expect(events.at(-1)?.type).toBe("finish");
    },
  );

  test("is not taken for hung while a step takes long by its size", async () => {
    // A step of this prompt takes many times as long as a step must, and the measured speed says so.
    const { host, restarts } = runners({
      ...withFault({ GGML_TEST_FAULT: "slow" }),
      stepTimeoutMs: 1000,
    });
    const model = await chatOn(host, undefined, { settings: { ...settings, batchSize: 512 } });
    const prompt = "slow and steady ".repeat(12);
    const events = await Array.fromAsync(model.engine.generate(request(prompt, 3), { signal }));
    expect(events.at(-1)).toMatchObject({ type: "finish" });
    expect(restarts).toEqual([]);
  });
});

describe("a runner whose process dies", () => {
  test("fails what it was at, serves who waits from a new process of its sizes, and says all of it", async () => {
    const { host, restarts, log } = runners();
    const sizes = { ctxSize: "auto", batchSize: "auto", nGpuLayers: "auto" } as const;
    const model = await chatOn(host, undefined, { settings: { ...neutralSettings, ...sizes } });
    const choices = () => log.filter(({ message }) => message.includes("sizes were chosen"));
    expect(choices()).toHaveLength(1);
    const open = await Promise.all([underway(model), underway(model)]);
    const waiting = Array.fromAsync(model.engine.generate(request("Later", 5), { signal }));
    const before = kill(host, "talker");
    for (const iterator of open) {
      expect(await rejectionOf(drain(iterator))).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("The process that runs the model 'talker' ended"),
      });
    }
    expect(model.problem?.()).toBe("The model 'talker' is being started again.");
    expect((await waiting).at(-1)?.type).toBe("finish");
    expect(model.problem?.()).toBeUndefined();
    expect(pidOf(host, "talker")).not.toBe(before);
    expect(restarts).toEqual(["talker"]);
    expect(log.filter(({ level }) => level === "error")).toEqual([
      {
        level: "error",
        message: "a model's process ended; it is started again",
        fields: { model: "talker", how: "SIGKILL", requests_lost: 2, requests_waiting: 1 },
      },
    ]);
    expect(choices()).toHaveLength(1);
  });

  test("refuses while its weights are gone, and answers once they are back", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "model.gguf");
    const away = join(folder.path, "away.gguf");
    await save(path, tinyLlama());
    const { host } = runners();
    const model = await chatOn(host, path);
    await rename(path, away);
    kill(host, "talker");
    await waitFor("the failed start", () => model.problem?.()?.includes("cannot") === true);
    const asked = Array.fromAsync(model.engine.generate(request("Hello?", 3), { signal }));
    expect(await rejectionOf(asked)).toMatchObject({
      kind: "model_not_ready",
      message: expect.not.stringContaining(folder.path),
    });
    await rename(away, path);
    await waitFor("the model", () => model.problem?.() === undefined);
    expect(await model.engine.countTokens([{ role: "user", content: "a" }])).toBeGreaterThan(0);
  });

  test("gives up on a request that saw it die three times", async () => {
    // A process that is stopped cannot begin with the call that it is given.
    const { host, restarts } = runners({}, (started) => kill(started, "talker", "SIGSTOP"));
    const model = await chatOn(host);
    const open = await Promise.all([underway(model), underway(model)]);
    const waiting = rejectionOf(
      Array.fromAsync(model.engine.generate(request("Unlucky", 5), { signal })),
    );
    for (let deaths = 1; deaths <= 3; deaths++) {
      kill(host, "talker");
      for (const iterator of open.splice(0)) await rejectionOf(drain(iterator));
      await waitFor("the death", () => restarts.length === deaths);
      if (deaths === 3) break;
      await waitFor("the new process", () => pidOf(host, "talker") !== undefined);
    }
    expect(await waiting).toMatchObject({ kind: "unavailable" });
  });
});

describe("a runner in the moment its process dies", () => {
  test("takes a call that nobody hears any more to the next process", async () => {
    const { host } = runners();
    const model = await chatOn(host);
    const pid = kill(host, "talker");
    // The process is gone; without a turn of the event loop this one cannot have noticed.
    while (!hasEnded(pid));
    const asked = Array.from({ length: 4 }, () =>
      Array.fromAsync(model.engine.generate(request("Anybody?", 3), { signal })),
    );
    for (const events of await Promise.all(asked)) expect(events.at(-1)?.type).toBe("finish");
  });

  test("and whose next one dies while it loads, serves who waits from the one after", async () => {
    const { host } = runners();
    const model = await chatOn(host);
    const before = kill(host, "talker");
    const waiting = Array.fromAsync(model.engine.generate(request("Still there?", 3), { signal }));
    let next = 0;
    await waitFor("the next process", async () => {
      next = await runnerOf(process.pid, "talker").catch(() => 0);
      return next !== 0 && next !== before;
    });
    process.kill(next, "SIGKILL");
    expect((await waiting).at(-1)?.type).toBe("finish");
  });

  test("does not go on with another file in the place of its own", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "model.gguf");
    const other = join(folder.path, "other.gguf");
    await save(path, tinyLlama());
    const { host } = runners();
    const model = await chatOn(host, path);
    await rename(path, other);
    const { metadata, tensors } = tinyLlama();
    const author = { type: "string", value: "somebody else" } as const;
    await save(path, { metadata: { ...metadata, "general.author": author }, tensors });
    kill(host, "talker");
    await waitFor("the refusal", () => model.problem?.()?.includes("cannot be loaded") === true);
    await rename(other, path);
    await waitFor("the model", () => model.problem?.() === undefined);
    expect(await model.engine.countTokens([{ role: "user", content: "a" }])).toBeGreaterThan(0);
  });
});

describe("a runner beside another", () => {
  let started: Started;
  let talker: ChatModel;
  let mapper: EmbeddingModel;
  beforeAll(async () => {
    started = startRunners();
    talker = await chatOn(started.host);
    mapper = await embeddingOn(started.host);
  });
  afterAll(async () => {
    await started.host[Symbol.asyncDispose]();
  });

  test("has the slot of an answer that nobody reads back when the answer's time is up", async () => {
    const time = new AbortController();
    for (let slot = 0; slot < 2; slot++) {
      const answer = talker.engine.generate(request("Unread", 1900), { signal: time.signal });
      await answer[Symbol.asyncIterator]().next();
    }
    const waiting = Array.fromAsync(talker.engine.generate(request("Next", 3), { signal }));
    time.abort(new Error("its time is up"));
    expect((await waiting).at(-1)?.type).toBe("finish");
  });

  test("is done with what a caller asked who left before the caller is: counts", async () => {
    const { host } = started;
    const { engine } = mapper;
    kill(host, "mapper", "SIGSTOP");
    const gone = new AbortController();
    let hasSettled = false;
    const counting = rejectionOf(
      engine.countTokens(["abc"], { signal: gone.signal }).finally(() => {
        hasSettled = true;
      }),
    );
    gone.abort(new Error("left"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasSettled).toBe(false);
    kill(host, "mapper", "SIGCONT");
    expect(await counting).toMatchObject({ message: "left" });
    expect(await engine.countTokens(["abc"], { signal })).toEqual([5]);
  });

  test("is done with what a caller asked who left before the caller is: an answer", async () => {
    const { host } = started;
    const { engine } = talker;
    const gone = new AbortController();
    const answer = engine.generate(request("Leave", 1900), { signal: gone.signal });
    const reader = answer[Symbol.asyncIterator]();
    await reader.next();
    kill(host, "talker", "SIGSTOP");
    gone.abort(new Error("left"));
    let hasSettled = false;
    const rest = rejectionOf(
      drain(reader).finally(() => {
        hasSettled = true;
      }),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasSettled).toBe(false);
    kill(host, "talker", "SIGCONT");
    expect(await rest).toMatchObject({ message: "left" });
  });

  test("of a crash in native code fails what it was at, and leaves the other models alone", async () => {
    const { restarts } = started;
    for (const how of ["SIGSEGV", "SIGABRT"] as const) {
      const open = await underway(talker);
      kill(started.host, "talker", how);
      expect(await rejectionOf(drain(open))).toMatchObject({ kind: "unavailable" });
      expect(await mapper.engine.embed(["still here"], { signal })).toHaveLength(1);
      const events = await Array.fromAsync(
        talker.engine.generate(request("And you?", 3), { signal }),
      );
      expect(events.at(-1)?.type).toBe("finish");
    }
    expect(restarts).toEqual(["talker", "talker"]);
  });

  test("fails the embeddings it was at, and counts and embeds again", async () => {
    const { engine } = mapper;
    let hasBegun = false;
    const many = Array.from({ length: 20_000 }, (_, at) => `text number ${at}`);
    const onStart = (): void => {
      hasBegun = true;
    };
    const embedding = rejectionOf(engine.embed(many, { signal, onStart }));
    await waitFor("the first text", () => hasBegun);
    kill(started.host, "mapper");
    // The cause tells a file's text that it ends at from a refusal.
    const cause = expect.any(ProcessEnded);
    expect(await embedding).toMatchObject({ kind: "unavailable", cause });
    expect(await engine.countTokens(["abc"])).toEqual([5]);
    expect(await engine.embed(["abc"], { signal })).toHaveLength(1);
  });

  test("does not take what a caller asked who left to the next process", async () => {
    const { host, log } = started;
    const { engine } = mapper;
    log.splice(0);
    kill(host, "mapper", "SIGSTOP");
    const gone = new AbortController();
    const counting = rejectionOf(engine.countTokens(["abc"], { signal: gone.signal }));
    gone.abort(new Error("left"));
    kill(host, "mapper");
    expect(await counting).toMatchObject({ message: "left" });
    expect(log.filter(({ level }) => level === "error")).toMatchObject([
      { fields: { requests_lost: 0, requests_waiting: 0 } },
    ]);
  });

  test("that is asked to end is gone with its memory, and fails what it was at", async () => {
    const { host } = started;
    const open = await underway(talker);
    const pid = pidOf(host, "talker") ?? 0;
    const failed = rejectionOf(drain(open));
    await talker[Symbol.asyncDispose]();
    expect(await failed).toMatchObject({ kind: "unavailable" });
    expect(isAlive(pid)).toBe(false);
    expect(pidOf(host, "talker")).toBeUndefined();
  });
});

describe("a runner that is asked to end", () => {
  test("while it loads, does not stay behind", async () => {
    const { host } = runners();
    const { chat } = await tinyModels();
    const stop = new AbortController();
    const progress = {
      step: () => {
        stop.abort(new Error("not any more"));
        return { update: () => {}, finish: () => {} };
      },
    };
    const spec = tinySpec({ name: "talker", type: "chat", path: chat });
    expect(
      await rejectionOf(host.loadModel(spec, { progress, signal: stop.signal })),
    ).toMatchObject({ message: "not any more" });
    expect(host.processes()).toEqual([]);
  });
});

describe("a runner that cannot load its model", () => {
  test.each([
    ["a missing file", undefined],
    ["no model at all", Buffer.from("this is no model")],
    ["random bytes", Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)))],
  ])("says why of %s", async (_, bytes) => {
    await using folder = await tempDir();
    const path = join(folder.path, "broken.gguf");
    if (bytes !== undefined) await writeFile(path, bytes);
    const { host } = runners();
    expect(await rejectionOf(chatOn(host, path))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("The model 'talker' cannot be loaded"),
    });
    expect(host.processes()).toEqual([]);
    await rm(path, { force: true });
  });
});

describe("a reranking model in a process of its own", () => {
  test("judges passages, and goes on after a crash", async () => {
    const { host } = runners();
    const { reranker: path } = await tinyModels();
    const settings = { ...neutralSettings, ctxSize: 0 };
    const spec = tinySpec({ name: "judge", type: "reranker", path, settings });
    const model = resources.use(await host.loadModel(spec, loading));
    if (model.type !== "reranker") throw new Error("not a reranking model");
    const judge = () => model.engine.rank("a question", ["one", "two"], { signal });
    const before = await judge();
    const pid = pidOf(host, "judge");
    kill(host, "judge");
    await waitFor("the death", () => pidOf(host, "judge") !== pid);
    expect(await judge()).toEqual(before);
  });

  test("gives its memory back after a while, as others do", async () => {
    const { host } = runners();
    const { reranker: path } = await tinyModels();
    const settings = { ...neutralSettings, ctxSize: 0 };
    const spec = tinySpec({ name: "judge", type: "reranker", path, settings, keepAliveMs: 50 });
    const model = resources.use(await host.loadModel(spec, loading));
    if (model.type !== "reranker") throw new Error("not a reranking model");
    await waitFor("the unloading", () => pidOf(host, "judge") === undefined);
    const { scores } = await model.engine.rank("a question", ["one"], { signal });
    expect(scores).toHaveLength(1);
  });
});

describe("a runner that nobody asks", () => {
  test("gives its memory back after a while, is no problem, and answers the next request", async () => {
    const { host, restarts, log } = runners();
    const model = await chatOn(host, undefined, { keepAliveMs: 50 });
    const open = await underway(model);
    const first = pidOf(host, "talker") ?? 0;
    await drain(open);
    await waitFor("the unloading", () => pidOf(host, "talker") === undefined);
    await waitFor("the end of the process", () => !isAlive(first));
    expect(model.problem?.()).toBeUndefined();
    const asked = Array.from({ length: 4 }, () =>
      Array.fromAsync(model.engine.generate(request("Awake?", 3), { signal })),
    );
    for (const events of await Promise.all(asked)) expect(events.at(-1)?.type).toBe("finish");
    expect(restarts).toEqual([]);
    expect(log.filter(({ level }) => level === "error")).toEqual([]);
    // Also where it died before: waking is not failing.
    const lost = await underway(model);
    const loads = () => log.filter(({ message }) => message === "a model was loaded again").length;
    const before = loads();
    kill(host, "talker");
    await rejectionOf(drain(lost));
    await waitFor("the death", () => restarts.length === 1);
    await waitFor("the next process", () => loads() === before + 1);
    await waitFor("the unloading", () => pidOf(host, "talker") === undefined);
    const woken = Array.fromAsync(model.engine.generate(request("And now?", 3), { signal }));
    expect(model.problem?.()).toBeUndefined();
    expect((await woken).at(-1)?.type).toBe("finish");
    expect(log.map(({ message }) => message)).toContain("a model that nobody asked was unloaded");
  });
});

describe("a runner whose weights are replaced", () => {
  const spec = (path: string) => tinySpec({ name: "talker", type: "chat", path, settings });

  test("ends the answers that it has, and answers with the new ones who waits meanwhile", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "other.gguf");
    const { metadata, tensors } = tinyLlama();
    const author = { type: "string", value: "somebody else" } as const;
    await save(path, { metadata: { ...metadata, "general.author": author }, tensors });
    const { host, restarts, log } = runners();
    const before = await chatOn(host);
    const open = await underway(before);
    const first = pidOf(host, "talker") ?? 0;
    const replacing = host.replaceWeights(spec(path), signal);
    const waiting = Array.fromAsync(before.engine.generate(request("And me?", 3), { signal }));
    await drain(open);
    const after = await replacing;
    expect((await waiting).at(-1)?.type).toBe("finish");
    expect(after.card.ownedBy).toBe("somebody else");
    expect(after.fingerprint).not.toBe(before.fingerprint);
    expect(hasEnded(first)).toBe(true);
    // It is restarted with what it has now.
    kill(host, "talker");
    await waitFor("the restart", () => restarts.length === 1);
    await waitFor("the model", () => after.problem?.() === undefined);
    expect(log.filter(({ message }) => message.includes("cannot be loaded"))).toEqual([]);
  });

  test("goes on with those that it has where the others cannot be loaded", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "broken.gguf");
    await writeFile(path, "GGUF, and nothing else");
    const { host, restarts } = runners();
    const model = await chatOn(host);
    const refused = rejectionOf(host.replaceWeights(spec(path), signal));
    const waiting = Array.fromAsync(model.engine.generate(request("And me?", 3), { signal }));
    expect(await refused).toMatchObject({ message: expect.stringContaining("cannot be loaded") });
    expect((await waiting).at(-1)?.type).toBe("finish");
    expect([model.problem?.(), restarts]).toEqual([undefined, []]);
  });
});

describe("a bound on the memory of all models", () => {
  const memory = (limit: number) => ({ limit, bytesOf: async () => 100 });

  test("unloads the one unused for longest to make room, and loads it again when it is asked", async () => {
    const host = resources.use(testRunners({ memory: memory(250) }));
    const names = ["first", "second", "third"];
    const models: ChatModel[] = [];
    const awake = (): string[] => host.processes().map(({ model }) => model);
    const ask = async (at: number): Promise<void> => {
      const { engine } = models[at] ?? {};
      if (engine === undefined) throw new Error("no such model");
      await Array.fromAsync(engine.generate(request("You?", 2), { signal }));
    };
    for (const name of names) models.push(await chatOn(host, undefined, { name }));
    expect(awake()).toEqual(["second", "third"]);
    await ask(1);
    await ask(0);
    expect(awake()).toEqual(["first", "second"]);
    await ask(2);
    expect(awake()).toEqual(["first", "third"]);
  });

  test("lets one that is at work finish before it makes room, and gives each its turn", async () => {
    const host = resources.use(testRunners({ memory: memory(150) }));
    const first = await chatOn(host, undefined, { name: "first" });
    const open = await underway(first);
    const loading = chatOn(host, undefined, { name: "second" });
    await drain(open);
    const second = await loading;
    expect(host.processes().map(({ model }) => model)).toEqual(["second"]);
    expect(second.problem?.()).toBeUndefined();
    // Although another is asked without a pause.
    let isOver = false;
    const crowd = Array.from({ length: 3 }, async () => {
      while (!isOver) {
        await Array.fromAsync(second.engine.generate(request("Me again", 20), { signal }));
      }
    });
    await Array.fromAsync(first.engine.generate(request("And me?", 3), { signal }));
    isOver = true;
    await Promise.all(crowd);
  });

  test("serves models that are asked at once and do not fit together one after the other", async () => {
    const host = resources.use(testRunners({ memory: memory(150) }));
    const models = [
      await chatOn(host, undefined, { name: "first", keepAliveMs: 10 }),
      await chatOn(host, undefined, { name: "second", keepAliveMs: 10 }),
    ];
    await waitFor("both to sleep", () => host.processes().length === 0);
    const answers = await Promise.all(
      models.map(({ engine }) => Array.fromAsync(engine.generate(request("You?", 2), { signal }))),
    );
    expect(answers.map((events) => events.at(-1)?.type)).toEqual(["finish", "finish"]);
  });

  test("that nobody set unloads and refuses only models that may be unloaded", async () => {
    const perModel = 1e9;
    const bytesOf = async (): Promise<number> => perModel;
    const limit = 1.5 * perModel;
    const host = resources.use(testRunners({ memory: { limit, sparesLasting: true, bytesOf } }));
    const keepAliveMs = 60_000;
    for (const name of ["lasting", "other"]) await chatOn(host, undefined, { name });
    await chatOn(host, undefined, { name: "first", keepAliveMs });
    await chatOn(host, undefined, { name: "second", keepAliveMs });
    const awake = host.processes().map(({ model }) => model);
    expect(awake).toEqual(["lasting", "other", "second"]);
  });

  test("that nobody set counts what lasting models use", async () => {
    const bytesOf = async (): Promise<number> => 100;
    const host = resources.use(
      testRunners({ memory: { limit: 1000, sparesLasting: true, bytesOf } }),
    );
    await chatOn(host, undefined, { name: "first", keepAliveMs: 60_000 });
    await chatOn(host, undefined, { name: "lasting" });
    await waitFor("its size", () => (host.residentBytes("lasting") ?? 0) > 1000);
    const refused = await rejectionOf(chatOn(host, undefined, { name: "more", keepAliveMs: 1000 }));
    expect(refused).toMatchObject({
      ...{ kind: "unavailable", message: expect.stringContaining("those that stay loaded") },
      retryAfterMs: 30_000,
    });
    // What cannot fit takes no other's place.
    expect(host.processes().map(({ model }) => model)).toEqual(["first", "lasting"]);
  });

  test("makes room on an accelerator, by what each model finds free", async () => {
    let free = 250;
    const accelerator = { bytesOf: async () => 100, freeFor: () => free };
    const host = resources.use(testRunners({ accelerator }));
    const awake = (): string[] => host.processes().map(({ model }) => model);
    const keepAliveMs = 60_000;
    await chatOn(host, undefined, { name: "lasting" });
    free = 200;
    await chatOn(host, undefined, { name: "first", keepAliveMs });
    free = 100;
    await chatOn(host, undefined, { name: "second", keepAliveMs });
    expect(awake()).toEqual(["lasting", "first", "second"]);
    // Another program took the rest.
    free = 0;
    await chatOn(host, undefined, { name: "third", keepAliveMs });
    expect(awake()).toEqual(["lasting", "second", "third"]);
    await chatOn(host, undefined, { name: "fourth", keepAliveMs });
    expect(awake()).toEqual(["lasting", "fourth"]);
  });

  test("refuses a model that is larger than all of it, with what to do", async () => {
    const host = resources.use(testRunners({ memory: memory(50) }));
    expect(await rejectionOf(chatOn(host))).toMatchObject({
      message: expect.stringContaining("Raise the limit, or choose a smaller model"),
    });
  });
});
