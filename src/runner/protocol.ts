/** The messages between a node and a runner, over the IPC channel between their processes. */
import { type ErrorKind, NodeError, reasonOf, type Subject } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type {
  BackendSubject,
  EngineBackend,
  LoadStage,
  RejectedBackend,
} from "../core/models/engine-backends.ts";
import type { ModelCard } from "../core/models/model.ts";
import type {
  ChatMessage,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
  Tool,
} from "../core/ports/chat-engine.ts";
import type { Embedding, EmbeddingInput, EmbedOptions } from "../core/ports/embedding-engine.ts";
import type { ModelSpec } from "../core/ports/model-host.ts";
import type { EmbeddingIdentity } from "../core/ports/passage-repository.ts";
import type { Ranking, RankOptions } from "../core/ports/reranker.ts";
import type { TokenizedText, TokenizerInput } from "../core/ports/tokenizer.ts";
import type { LocalHost } from "../engine/load-model.ts";

export interface EngineSettings {
  threads: number;
  gpuLibraries?: string;
  /** Whether llama.cpp's C interface may be used; default: true. */
  nativeSteps?: boolean;
}

export interface RunnerBackend {
  backend: EngineBackend;
  rejected: readonly RejectedBackend[];
}

export const subjectOf = ({ path, settings }: ModelSpec): BackendSubject => ({
  path,
  nGpuLayers: settings.nGpuLayers,
  context: settings.context,
});

export type Call =
  | {
      type: "count-chat";
      messages: readonly ChatMessage[];
      tools?: readonly Tool[];
      caller?: string;
    }
  | {
      type: "generate";
      request: GenerationRequest | CompletionRequest;
      caller?: string;
      prefixScope?: string;
    }
  /** Nothing but a process that has loaded its model; answered with an empty text. */
  | { type: "load" }
  | { type: "tokenize"; input: TokenizerInput }
  | { type: "detokenize"; tokens: readonly number[] }
  | { type: "count-inputs"; inputs: readonly EmbeddingInput[] }
  | ({ type: "embed"; inputs: readonly EmbeddingInput[] } & Pick<
      EmbedOptions,
      "background" | "caller"
    >)
  | ({ type: "rank"; question: string; passages: readonly string[] } & Pick<
      RankOptions,
      "maxPassageTokens" | "maxTokens" | "cutsQuestion" | "caller"
    >);

export type ToRunner =
  | { type: "load"; engine: EngineSettings & RunnerBackend; spec: ModelSpec }
  | { type: "call"; id: number; call: SerializedCall }
  /** Flow control: allows this many more events of the call. */
  | { type: "credit"; id: number; events: number }
  | { type: "cancel"; id: number }
  /** Answered by the event loop that does everything else, so that a blocked loop is noticed. */
  | { type: "heartbeat" }
  | { type: "threads"; most: number };

export type Facts = { card: ModelCard; fingerprint: string } & (
  | { type: "chat"; contextSize: number }
  | {
      type: "embedding";
      identity: EmbeddingIdentity;
      dimension: number;
      maxTokens: number;
      vocabularySize: number;
    }
  | { type: "reranker"; maxTokens: number }
);

export interface SentError {
  kind?: ErrorKind;
  message: string;
  param?: string;
  subject?: Subject;
  retryAfterMs?: number;
}

export type CallItem =
  /** A large call is read, and the next one can be sent. */
  | { type: "read" }
  | { type: "start"; tokens: number }
  | { type: "event"; event: GenerationEvent }
  /** An event with log probabilities, as JSON since a prompt has thousands; see `pieces` below. */
  | { type: "scored"; event: string }
  | { type: "end" }
  | { type: "counts"; counts: number[] }
  | { type: "embeddings"; embeddings: Embedding[] }
  | { type: "ranking"; ranking: Ranking }
  /** The pieces are JSON, since the channel's own serialisation takes microseconds for each. */
  | { type: "tokens"; tokenized?: Pick<TokenizedText, "tokens"> & { pieces?: string } }
  | { type: "text"; text: string }
  | { type: "error"; error: SentError };

export const isLast = ({ type }: CallItem): boolean =>
  type !== "event" && type !== "scored" && type !== "start" && type !== "read";

export interface Vitals {
  bytes: number;
  /** Major page faults: waits for the disk to load memory, including weights. */
  pageFaults: number;
  steps?: ReturnType<LocalHost["steps"]>;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export type FromRunner =
  /** The runner is listening; earlier messages are lost. */
  | { type: "listening" }
  | { type: "log"; level: LogLevel; message: string; fields: Readonly<Record<string, unknown>> }
  | { type: "progress"; label: string; percent: number }
  /** Progress of loading; before the first stage, the backend's library is loaded. */
  | { type: "stage"; stage: LoadStage }
  | { type: "loaded"; version: string; facts: Facts }
  | { type: "not-loaded"; error: SentError }
  | ({ type: "heartbeat" } & Vitals)
  /** Batched, since a message costs about as much as a token of a small model. */
  | { type: "items"; items: { id: number; item: CallItem }[] };

/** Events that a runner may send before the reader consumes any. */
export const initialCredits = 64;

export function toSentError(error: unknown): SentError {
  if (!(error instanceof NodeError)) return { message: reasonOf(error) };
  const { kind, message, param, subject, retryAfterMs } = error;
  return { kind, message, ...given({ param, subject, retryAfterMs }) };
}

export function fromSentError({ kind, message, ...details }: SentError): Error {
  if (kind === undefined) return new Error(message);
  return new NodeError(kind, message, details);
}

/** A call as JSON: the channel's serialization takes microseconds for each of a million values. */
type SerializedCall = string;

/** Larger ones are sent one after the other: they take milliseconds to be read, and others wait for that. */
export const isLarge = ({ length }: SerializedCall): boolean => length > 65_536;

type Generate = Extract<Call, { type: "generate" }>;

/** For JSON, which has no maps: the entries of `logitBias` are in `biases`. */
type PlainCall = Exclude<Call, Generate> | (Generate & { biases?: [number, number][] });

export function serialize(call: Call): SerializedCall {
  const biases = call.type === "generate" ? call.request.logitBias : undefined;
  return JSON.stringify(biases === undefined ? call : { ...call, biases: [...biases] });
}

export function deserialize(text: SerializedCall): Call {
  const call: PlainCall = JSON.parse(text);
  if (call.type !== "generate") return call;
  const { biases, ...generate } = call;
  if (biases === undefined) return generate;
  return { ...generate, request: { ...generate.request, logitBias: new Map(biases) } };
}
