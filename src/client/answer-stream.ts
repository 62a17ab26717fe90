/** A streamed answer, piece by piece, however its bytes are cut on the way. */
import type { Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { createParser } from "eventsource-parser";
import { NodeError } from "../core/errors.ts";
import { Chunk, Completion, Failure } from "./wire.ts";

export interface AnswerPiece {
  /** `thought`: what a reasoning model writes before it answers. */
  type: "text" | "thought";
  text: string;
}

/** The last word of the OpenAI API's streams. */
const lastWord = "[DONE]";

/** Ends where the answer does; an answer that ends before it is finished is a failure. */
export async function* answerPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<AnswerPiece> {
  let isFinished = false;
  for await (const data of eventData(body)) {
    if (data === lastWord) return;
    const frame = parse(data);
    if (Value.Check(Failure, frame)) throw failed(messageOf(frame));
    if (!Value.Check(Chunk, frame)) continue; // servers send frames of their own, too
    for (const { delta, finish_reason: reason } of frame.choices) {
      if (delta !== undefined) yield* piecesOf(delta);
      isFinished ||= typeof reason === "string";
    }
  }
  // Some servers say no last word.
  if (!isFinished) throw failed("it ended before it was finished");
}

/** The answer of a server that does not stream. */
export function* wholeAnswer(body: unknown): Generator<AnswerPiece> {
  if (!Value.Check(Completion, body)) throw failed("the server sent something else");
  for (const { message } of body.choices) yield* piecesOf(message);
}

function* piecesOf(said: NonNullable<Static<typeof Chunk>["choices"][0]["delta"]>) {
  const thought = said.reasoning_content ?? said.reasoning;
  if (thought) yield { type: "thought", text: thought } as const;
  if (said.content) yield { type: "text", text: said.content } as const;
}

async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const ready: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => ready.push(data) });
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }));
    yield* ready.splice(0);
  }
  // The last event may lack the empty line that ends it.
  parser.feed("\n\n");
  yield* ready;
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw failed(`the server sent what is no JSON: ${data.slice(0, 60)}`);
  }
}

export const messageOf = ({ error }: Static<typeof Failure>): string =>
  typeof error === "string" ? error : error.message;

const failed = (reason: string): NodeError =>
  new NodeError("unavailable", `The answer failed: ${reason.replace(/\.$/, "")}.`);
