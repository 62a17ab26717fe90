/** Who watches the node: told what happens as it happens, and of every request when it has ended. */
import type { ModelType } from "../models/model.ts";
import type { TokenUsage } from "./chat-engine.ts";

/** Moments are those of `performance.now()`. */
export interface Span {
  from: number;
  to: number;
}

/** One answer of a chat model, as far as it came. */
export interface AnswerRecord {
  model: string;
  /** Which prompt of its request it answers, where there are several. */
  prompt?: number;
  calledAt: number;
  /** Absent: it never left the line. */
  startedAt?: number;
  /** Absent: it never left the line. */
  promptTokens?: number;
  /** Absent: there was no first token. */
  firstTokenAt?: number;
  endedAt: number;
  /** How many tokens came: counted exactly at the finish, by events before it. */
  generatedTokens: number;
  /** Absent: it broke off. */
  usage?: TokenUsage;
}

/** Something that was done for a request. */
export type WorkEvent =
  /** A call left the line of its model. */
  | { type: "started"; model: string; modelType: ModelType; waitedMs: number }
  | { type: "first-token"; model: string }
  /** So many more tokens were generated. */
  | { type: "tokens"; model: string; count: number }
  | ({ type: "answered" } & AnswerRecord)
  | ({ type: "embedded"; model: string; inputs: number; tokens: number } & Span)
  /** `passages`: how many were judged. */
  | ({ type: "reranked"; model: string; passages: number; tokens: number } & Span)
  /** `passages`: how many were found; undefined where retrieval failed. */
  | ({ type: "retrieved"; passages: number | undefined } & Span);

export type FinishedWork = Extract<
  WorkEvent,
  { type: "answered" | "embedded" | "reranked" | "retrieved" }
>;

export type Report = (event: WorkEvent) => void;

/** `client left`: nobody waits for the rest any more; `client stalled`: its client took nothing of a stream. */
export type Outcome = "ok" | "error" | "client left" | "client stalled";

/** What a request used, where an answer, vectors or scores were computed for it. */
export interface UsedTokens {
  /** Absent where no answer left the line. */
  prompt?: number;
  cached?: number;
  completion: number;
}

/** A request that has ended, streams included. It holds no key, no prompt and no answer. */
export interface RequestRecord extends Span {
  id: string;
  /** Name of the key; unknown where the operation asks for none. */
  caller: string | undefined;
  operation: string;
  /** What OpenTelemetry's conventions for generative AI call the operation; absent for others. */
  genAiOperation: string | undefined;
  method: string;
  path: string;
  /** As the request named it. */
  model: string | undefined;
  /** The status that was sent. */
  status: number;
  outcome: Outcome;
  /** Why a stream that had begun was not finished, as the status it would have had. */
  brokenStatus: number | undefined;
  tokens: UsedTokens | undefined;
  queueMs: number | undefined;
  firstTokenMs: number | undefined;
  retrievalMs: number | undefined;
  /** What was done for it, in the order in which it ended. */
  work: readonly FinishedWork[];
  /** The trace that the caller said it belongs to, as a W3C `traceparent`. */
  traceparent: string | undefined;
}

export interface Telemetry {
  /** `sinceReceivedMs`: how long ago the request came. */
  worked(event: WorkEvent, sinceReceivedMs: number): void;
  requestEnded(record: RequestRecord): void;
  /** The process that runs a model ended, or hung and was ended, and is started again. */
  runnerRestarted(model: string, why: { hung: boolean }): void;
  /** Has a process's memory reported until the answer is disposed; `undefined`: not known now. */
  watchMemory(process: string, residentBytes: () => number | undefined): Disposable;
}

/** The numbers of the node as a page for a collector. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** Something that happened with a replica; `url` has no credentials. */
export type ReplicaEvent =
  /** A request was given to it. */
  | { type: "asked"; url: string }
  /** A request failed there, or it did not answer when it was asked how it is. */
  | { type: "failed"; url: string; why: string }
  /** A request that it had not begun was given to another. */
  | { type: "given-on"; url: string }
  /** It is none of the replicas any more. */
  | { type: "removed"; url: string };

/** `out`: left alone after failures; `trial`: one request at a time shows whether it is up. */
export type ReplicaState = "up" | "out" | "trial";

/** How a replica is now. */
export interface ReplicaStatus {
  url: string;
  state: ReplicaState;
  /** Requests that are with it. */
  inFlight: number;
}

export interface ReplicaTelemetry {
  /** Something happened with a replica of a model. */
  happened(model: string, event: ReplicaEvent): void;
  /** Has the replicas of a model reported until the answer is disposed. */
  watch(model: string, status: () => readonly ReplicaStatus[]): Disposable;
}
