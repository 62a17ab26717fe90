/** An answer in pieces, as any server of the OpenAI API sends it. */
import { ApiError } from "../../client/api-error.ts";
import { readChunks } from "../../client/chunk-stream.ts";
import { readChunk, readCompletion, type TolerantDelta } from "../../client/tolerant-answers.ts";
import { NodeError } from "../../core/errors.ts";

export interface AnswerPiece {
  /** `thought`: what a reasoning model writes before it answers. */
  type: "text" | "thought";
  text: string;
}

/** The pieces of a streamed answer; one that ends before it is finished is a failure. */
export async function* answerPieces(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal,
): AsyncGenerator<AnswerPiece> {
  let isFinished = false;
  try {
    for await (const sent of readChunks(body, signal)) {
      // Servers send frames of their own, too.
      for (const { delta, finish_reason: reason } of readChunk(sent)?.choices ?? []) {
        if (delta !== undefined) yield* piecesOf(delta);
        isFinished ||= typeof reason === "string";
      }
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Some servers send no [DONE].
    if (error.kind === "stream_interrupted" && isFinished) return;
    throw failed(reasonOf(error));
  }
}

/** The pieces of a whole answer, from a server that does not stream. */
export function* wholeAnswer(body: unknown): Generator<AnswerPiece> {
  const completion = readCompletion(body);
  if (completion === undefined) throw failed("the server sent something else");
  for (const { message } of completion.choices) yield* piecesOf(message);
}

function* piecesOf(delta: TolerantDelta): Generator<AnswerPiece> {
  const thought = delta.reasoning_content ?? delta.reasoning;
  if (thought) yield { type: "thought", text: thought };
  if (delta.content) yield { type: "text", text: delta.content };
}

/** Follows a colon, so that only the server's own words begin with a capital letter. */
function reasonOf({ kind, message }: ApiError): string {
  if (kind === "stream_interrupted") return "it ended before it was finished";
  return kind === "stream_error"
    ? message
    : `${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

const failed = (reason: string): NodeError =>
  new NodeError("unavailable", `The answer failed: ${reason.replace(/\.$/, "")}.`);
