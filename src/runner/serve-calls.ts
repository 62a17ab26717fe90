/** The runner's side of the protocol: loads one model and answers the node's calls. */
import { reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Log, LogFields } from "../core/log.ts";
import type { LoadedModel } from "../core/models/model.ts";
import type { Progress } from "../core/progress.ts";
import { type LocalHost, openLocalHost } from "../engine/local-host.ts";
import { CallsInProgress } from "./calls-in-progress.ts";
import {
  type FromRunner,
  type LogLevel,
  type ToRunner,
  toSentError,
  type Vitals,
} from "./protocol.ts";
import { deserialize } from "./serialized-call.ts";

export type Send = (message: FromRunner) => void;

/** Answers the node; the returned function handles every message. `vitals`: how this process is. */
export function serveCalls(
  send: Send,
  vitals: () => Omit<Vitals, "steps">,
): (message: ToRunner) => void {
  let host: LocalHost | undefined;
  let calls: CallsInProgress | undefined;
  const load = async ({ engine: settings, spec }: Extract<ToRunner, { type: "load" }>) => {
    host = await openLocalHost({ ...settings, log: logThrough(send) });
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

/** Errors do not survive serialisation, so a field that is one becomes its message. */
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
