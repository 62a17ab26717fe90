/**
 * A call serialised as one JSON text. The IPC channel's own serialisation takes microseconds for each
 * value of a list or an object, and a request may hold a million of them.
 */
import type { Call } from "./protocol.ts";

export type SerializedCall = string;

type Generate = Extract<Call, { type: "generate" }>;

/** As JSON can say it, which makes nothing of a map: its entries stand beside it. */
type PlainCall = Exclude<Call, Generate> | (Generate & { biases?: [number, number][] });

export function serialize(call: Call): SerializedCall {
  return JSON.stringify(toPlain(call));
}

export function deserialize(text: SerializedCall): Call {
  const call: PlainCall = JSON.parse(text);
  if (call.type !== "generate") return call;
  const { biases, ...generate } = call;
  if (biases === undefined) return generate;
  return { ...generate, request: { ...generate.request, logitBias: new Map(biases) } };
}

function toPlain(call: Call): PlainCall {
  if (call.type !== "generate" || call.request.logitBias === undefined) return call;
  return { ...call, biases: [...call.request.logitBias] };
}
