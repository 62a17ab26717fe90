/** The runner's side of the protocol: loads a model and answers calls, with flow control. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Log, LogFields } from "../core/log.ts";
import type { LoadedModel } from "../core/models/model.ts";
import type { GenerationEvent } from "../core/ports/chat-engine.ts";
import type { Progress } from "../core/progress.ts";
import { type LocalHost, openLocalHost } from "../engine/load-model.ts";
import {
  type Call,
  type CallItem,
  deserialize,
  type FromRunner,
  initialCredits,
  isLarge,
  isLast,
  type LogLevel,
  type ToRunner,
  toSentError,
  type Vitals,
} from "./protocol.ts";

export type Send = (message: FromRunner) => void;

/** Returns the handler of the node's messages. `vitals`: the state of this process. */
export function serveCalls(
  send: Send,
  vitals: () => Omit<Vitals, "steps">,
): (message: ToRunner) => void {
  let host: LocalHost | undefined;
  let calls: CallsInProgress | undefined;
  const load = async ({ engine: settings, spec }: Extract<ToRunner, { type: "load" }>) => {
    host = await openLocalHost({ ...settings, servesModelsAlone: true, log: logThrough(send) });
    const engine = await host.loadModel(spec, {
      progress: progressThrough(send),
      signal: new AbortController().signal,
      onStage: (stage) => send({ type: "stage", stage }),
    });
    calls = new CallsInProgress(engine, send);
    send({ type: "loaded", version: host.version, facts: factsOf(engine) });
  };
  return (message) => {
    switch (message.type) {
      case "heartbeat":
        send({ type: "heartbeat", ...vitals(), ...given({ steps: host?.steps() }) });
        return;
      case "load":
        load(message).catch((error) => send({ type: "not-loaded", error: toSentError(error) }));
        return;
      case "call":
        if (isLarge(message.call)) calls?.read(message.id);
        calls?.start(message.id, deserialize(message.call));
        return;
      case "credit":
        calls?.credit(message.id, message.events);
        return;
      case "cancel":
        calls?.cancel(message.id);
        return;
      case "threads":
        host?.useThreads(message.most);
        return;
    }
  };
}

function factsOf(loaded: LoadedModel): Extract<FromRunner, { type: "loaded" }>["facts"] {
  const { card, fingerprint } = loaded;
  if (loaded.type === "reranker") {
    return { type: "reranker", card, fingerprint, maxTokens: loaded.engine.maxTokens };
  }
  if (loaded.type === "chat") {
    const { contextSize } = loaded.engine;
    return { type: "chat", card, fingerprint, contextSize };
  }
  const { dimension, maxTokens, vocabularySize } = loaded.engine;
  const { identity } = loaded;
  return { type: "embedding", card, fingerprint, identity, dimension, maxTokens, vocabularySize };
}

function logThrough(send: Send): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      send({ type: "log", level, message, fields: sendable(fields) });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Errors cannot be serialized, so they are replaced by their message. */
const sendable = (fields: LogFields): LogFields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? reasonOf(value) : value,
    ]),
  );

function progressThrough(send: Send): Progress {
  return {
    step: (label) => ({
      update: (percent) => send({ type: "progress", label, percent }),
      finish: () => {},
    }),
  };
}

interface InProgress {
  stop: AbortController;
  credits: number;
  wake: () => void;
}

/** One frame of a fast screen, so that the delay is not visible. */
const batchMs = 8;

const toItem = (event: GenerationEvent): CallItem =>
  "logprobs" in event ? { type: "scored", event: JSON.stringify(event) } : { type: "event", event };

type Items = Extract<FromRunner, { type: "items" }>["items"];

export class CallsInProgress {
  readonly #engine: LoadedModel;
  readonly #send: Send;
  readonly #calls = new Map<number, InProgress>();
  #outbox: Items = [];
  #sentAt = Number.NEGATIVE_INFINITY;
  #isSending = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(engine: LoadedModel, send: Send) {
    this.#engine = engine;
    this.#send = send;
  }

  read(id: number): void {
    this.#post(id, { type: "read" });
  }

  start(id: number, call: Call): void {
    const progress = { stop: new AbortController(), credits: initialCredits, wake: () => {} };
    this.#calls.set(id, progress);
    this.#run(id, call, progress)
      .then((item) => this.#post(id, item))
      .catch((error) => this.#post(id, { type: "error", error: toSentError(error) }))
      .finally(() => this.#calls.delete(id));
  }

  credit(id: number, events: number): void {
    const progress = this.#calls.get(id);
    if (progress === undefined) return;
    progress.credits += events;
    progress.wake();
  }

  cancel(id: number): void {
    const progress = this.#calls.get(id);
    progress?.stop.abort(new NodeError("internal", "The node does not want the answer any more."));
    progress?.wake();
  }

  async #run(id: number, call: Call, progress: InProgress): Promise<CallItem> {
    const engine = this.#engine;
    const { signal } = progress.stop;
    const onStart = (tokens: number): void => this.#post(id, { type: "start", tokens });
    if (engine.type === "chat" && call.type === "generate") {
      const { type: _, request, ...who } = call;
      const options = { signal, onStart, ...who };
      for await (const event of engine.engine.generate(request, options)) {
        this.#post(id, toItem(event));
        progress.credits--;
        if (progress.credits === 0) await this.#creditFor(progress);
      }
      return { type: "end" };
    }
    if (engine.type === "chat" && call.type === "count-chat") {
      return {
        type: "counts",
        counts: [await engine.engine.countTokens(call.messages, call.tools, { signal })],
      };
    }
    if (engine.type === "embedding" && call.type === "count-inputs") {
      return { type: "counts", counts: await engine.engine.countTokens(call.inputs, { signal }) };
    }
    if (engine.type === "embedding" && call.type === "embed") {
      const { type: _, inputs, ...how } = call;
      const options = { signal, onStart, ...how };
      const embeddings = await engine.engine.embed(inputs, options);
      return { type: "embeddings", embeddings };
    }
    if (engine.type === "reranker" && call.type === "rank") {
      const { type: _, question, passages, ...bounds } = call;
      const options = { signal, onStart, ...bounds };
      return { type: "ranking", ranking: await engine.engine.rank(question, passages, options) };
    }
    if (call.type === "load") return { type: "text", text: "" };
    const { tokenizer } = engine.type === "reranker" ? {} : engine.engine;
    if (tokenizer !== undefined && call.type === "tokenize") {
      const found = await tokenizer.tokenize(call.input, { signal });
      const pieces = found?.pieces && JSON.stringify(found.pieces);
      const tokenized = found && { tokens: found.tokens, ...given({ pieces }) };
      return { type: "tokens", ...given({ tokenized }) };
    }
    if (tokenizer !== undefined && call.type === "detokenize") {
      return { type: "text", text: await tokenizer.detokenize(call.tokens, { signal }) };
    }
    throw new NodeError(
      "internal",
      `A runner of type '${engine.type}' was asked to '${call.type}'.`,
    );
  }

  /** Back pressure: waits until the reader has consumed some events, or has cancelled. */
  async #creditFor(progress: InProgress): Promise<void> {
    while (progress.credits === 0 && !progress.stop.signal.aborted) {
      await new Promise<void>((resolve) => {
        progress.wake = resolve;
      });
    }
  }

  /** Sends an item at once after a pause, else in a batch: a message costs as much as a token. */
  #post(id: number, item: CallItem): void {
    this.#outbox.push({ id, item });
    const isAwaited = isLast(item) || item.type === "read";
    const wait = isAwaited ? 0 : this.#sentAt + batchMs - performance.now();
    if (wait <= 0) this.#sendSoon();
    else this.#timer ??= setTimeout(() => this.#sendOut(), wait);
  }

  #sendSoon(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    setImmediate(() => this.#sendOut());
  }

  #sendOut(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isSending = false;
    if (this.#outbox.length === 0) return;
    this.#sentAt = performance.now();
    const items = this.#outbox;
    this.#outbox = [];
    this.#send({ type: "items", items });
  }
}
