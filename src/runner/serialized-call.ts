/**
 * A call serialised as one JSON text. The IPC channel's own serialisation takes microseconds for each
 * value of a list or an object, and a request may hold a million of them.
 */
import type { GenerationRequest } from "../core/ports/chat-engine.ts";
import type { Call } from "./protocol.ts";

export type SerializedCall = string;

type Generate = Extract<Call, { type: "generate" }>;

/** As JSON can say it: a map is its entries. */
type PlainCall =
  | Exclude<Call, Generate>
  | (Omit<Generate, "request"> & {
      request: Omit<GenerationRequest, "logitBias"> & { logitBias?: [number, number][] };
    });

export function serialize(call: Call): SerializedCall {
  return JSON.stringify(toPlain(call));
}

export function deserialize(text: SerializedCall): Call {
  const call: PlainCall = JSON.parse(text);
  if (call.type !== "generate") return call;
  const { logitBias, ...request } = call.request;
  return {
    ...call,
    request: logitBias === undefined ? request : { ...request, logitBias: new Map(logitBias) },
  };
}

function toPlain(call: Call): PlainCall {
  if (call.type !== "generate") return call;
  const { logitBias, ...request } = call.request;
  return {
    ...call,
    request: logitBias === undefined ? request : { ...request, logitBias: [...logitBias] },
  };
}
