/** An answer as it comes: the node's event stream as pieces. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { ask } from "../client.ts";
import { brokenOff, Failure } from "../failure.ts";
import type { Chunk, Retrieval, Usage } from "../wire.ts";

export type Piece =
  | { type: "text"; text: string }
  | { type: "thought"; text: string }
  | { type: "finish"; cut: boolean }
  | { type: "usage"; usage: Usage }
  | { type: "retrieval"; retrieval: Retrieval };

export async function* streamAnswer(body: unknown, signal: AbortSignal): AsyncGenerator<Piece> {
  const response = await ask("/v1/chat/completions", { body, signal });
  for await (const data of framesOf(response, signal)) {
    if (data === "[DONE]") return;
    const chunk: Chunk = JSON.parse(data);
    if (chunk.error !== undefined) throw new Failure(chunk.error.message, true);
    yield* piecesOf(chunk);
  }
  throw brokenOff();
}

async function* framesOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : brokenOff();
    });
    if (done) return;
    yield value.data;
  }
}

function* piecesOf({ choices, usage, retrieval }: Chunk): Generator<Piece> {
  for (const { delta, finish_reason } of choices) {
    if (delta.reasoning_content) yield { type: "thought", text: delta.reasoning_content };
    if (delta.content) yield { type: "text", text: delta.content };
    if (finish_reason !== null) yield { type: "finish", cut: finish_reason === "length" };
  }
  if (usage) yield { type: "usage", usage };
  if (retrieval) yield { type: "retrieval", retrieval };
}
