/** Port: telemetry. Receives events as they happen, and a record of every request when it ends. */
import type { ModelType } from "../models/model.ts";
import type { TokenUsage } from "./chat-engine.ts";

/** Times are those of `performance.now()`. */
export interface Span {
  from: number;
  to: number;
}

/** One answer of a chat model, complete or not. */
export interface AnswerRecord {
  model: string;
  /** Index of the prompt that it answers, if the request has several. */
  prompt?: number;
  calledAt: number;
  /** Absent: it never left the queue. */
  startedAt?: number;
  /** Absent: it never left the queue. */
  promptTokens?: number;
  /** Absent: there was no first token. */
  firstTokenAt?: number;
  endedAt: number;
  /** Generated tokens: exact once finished, before that the number of events. */
  generatedTokens: number;
  /** Absent: it broke off. */
  usage?: TokenUsage;
}

export type WorkEvent =
  | { type: "started"; model: string; modelType: ModelType; waitedMs: number }
  | { type: "first-token"; model: string }
  | { type: "tokens"; model: string; count: number }
  | ({ type: "answered" } & AnswerRecord)
  | ({ type: "embedded"; model: string; inputs: number; tokens: number } & Span)
  /** `passages`: how many were scored. */
  | ({ type: "reranked"; model: string; passages: number; tokens: number } & Span)
  /** `passages`: how many were found; undefined if retrieval failed. */
  | ({ type: "retrieved"; passages: number | undefined } & Span);

export type FinishedWork = Extract<
  WorkEvent,
  { type: "answered" | "embedded" | "reranked" | "retrieved" }
>;

export type Report = (event: WorkEvent) => void;

/** Options of every call of an engine. */
export interface EngineCall {
  signal: AbortSignal;
  report?: Report;
  /** Waiting callers are served in turn. */
  caller?: string;
}

/** `client left`: the client disconnected; `client stalled`: it stopped reading a stream. */
export type Outcome = "ok" | "error" | "client left" | "client stalled";

/** Tokens of a request for which an answer, vectors or scores were computed. */
export interface UsedTokens {
  /** Absent if no answer left the queue. */
  prompt?: number;
  cached?: number;
  completion: number;
}

/** A request that has ended, streams included. It holds no key, no prompt and no answer. */
export interface RequestRecord extends Span {
  id: string;
  /** Name of the key; undefined if the operation needs none. */
  caller: string | undefined;
  operation: string;
  /** The operation's name in OpenTelemetry's conventions for generative AI; undefined for others. */
  genAiOperation: string | undefined;
  method: string;
  path: string;
  model: string | undefined;
  status: number;
  outcome: Outcome;
  /** The status of the error that broke off a stream after it had begun. */
  brokenStatus: number | undefined;
  tokens: UsedTokens | undefined;
  queueMs: number | undefined;
  firstTokenMs: number | undefined;
  retrievalMs: number | undefined;
  work: readonly FinishedWork[];
  /** The caller's trace, as a W3C `traceparent`. */
  traceparent: string | undefined;
}

export interface Telemetry {
  /** `sinceReceivedMs`: time since the request was received. */
  worked(event: WorkEvent, sinceReceivedMs: number): void;
  requestEnded(record: RequestRecord): void;
  /** The process that runs a model exited, or hung and was killed, and is started again. */
  runnerRestarted(model: string, why: { hung: boolean }): void;
  /** Reports a process's memory until the result is disposed of; `undefined`: not known now. */
  watchMemory(process: string, residentBytes: () => number | undefined): Disposable;
}

export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** An event of a replica; `url` has no credentials. */
export type ReplicaEvent =
  | { type: "asked"; url: string }
  /** A request to it failed, or its health check did. */
  | { type: "failed"; url: string; why: string }
  /** A request that it had not begun was sent to another. */
  | { type: "given-on"; url: string }
  | { type: "removed"; url: string };

/** `out`: not used after failures; `trial`: gets one request at a time to see whether it is up. */
export type ReplicaState = "up" | "out" | "trial";

export interface ReplicaStatus {
  url: string;
  state: ReplicaState;
  inFlight: number;
}

export interface ReplicaTelemetry {
  happened(model: string, event: ReplicaEvent): void;
  /** Reports the replicas of a model until the result is disposed of. */
  watch(model: string, status: () => readonly ReplicaStatus[]): Disposable;
}
