/** Asking, stopping and asking again: what happens between a question and the end of its answer. */
import { announce } from "../announce.ts";
import { failureOf } from "../failure.ts";
import { newId } from "../identity.ts";
import { type Piece, streamAnswer } from "./answer-stream.ts";
import { type AnswerTurn, titleFrom, type UserTurn, untitled } from "./conversation.ts";
import { toRequest } from "./request.ts";
import { change, changeTurn, conversations, current, keep, startConversation } from "./store.ts";

/** Pieces that come closer together than this are shown together. */
const frameMs = 40;

const writers = new Map<string, AbortController>();

export async function send(question: string): Promise<void> {
  const { id } = current.value ?? startConversation();
  const turn: UserTurn = { id: newId(), role: "user", content: question };
  change(id, (one) => ({
    ...one,
    title: one.title === untitled ? titleFrom(question) : one.title,
    turns: [...one.turns, turn],
  }));
  await answer(id);
}

/** Drops what was answered to the last question, and asks it again. */
export async function retry(id: string): Promise<void> {
  if (writers.has(id)) return;
  change(id, (one) => {
    const last = one.turns.findLastIndex(({ role }) => role === "user");
    return { ...one, turns: one.turns.slice(0, last + 1) };
  });
  await answer(id);
}

export const stop = (id: string): void => writers.get(id)?.abort();

/** A browser that leaves the page breaks its connections: that is stopping, not a failure. */
let isLeaving = false;
addEventListener("beforeunload", () => {
  isLeaving = true;
});

async function answer(id: string): Promise<void> {
  const conversation = conversations.value.find((one) => one.id === id);
  if (conversation === undefined || writers.has(id)) return;
  const controller = new AbortController();
  writers.set(id, controller);
  const turn: AnswerTurn = {
    id: newId(),
    role: "assistant",
    content: "",
    model: conversation.settings.model,
    state: "writing",
  };
  const request = toRequest(conversation, conversation.turns);
  change(id, (one) => ({ ...one, turns: [...one.turns, turn] }));
  keep();
  announce("The node is answering.");
  const ended = await write(id, turn, streamAnswer(request, controller.signal), controller.signal);
  writers.delete(id);
  show(id, ended);
  keep();
  announce(spoken(ended));
}

/** Shows the answer as it grows; gives it as it ended. */
async function write(
  id: string,
  begun: AnswerTurn,
  pieces: AsyncIterable<Piece>,
  signal: AbortSignal,
): Promise<AnswerTurn> {
  const askedAt = performance.now();
  let turn = begun;
  let firstAt: number | undefined;
  let lastAt = askedAt;
  let shownAt = 0;
  try {
    for await (const piece of pieces) {
      if (piece.type === "text" || piece.type === "thought") {
        lastAt = performance.now();
        firstAt ??= lastAt;
      }
      turn = withPiece(turn, piece, (firstAt ?? lastAt) - askedAt, lastAt - (firstAt ?? lastAt));
      if (performance.now() - shownAt < frameMs) continue;
      shownAt = performance.now();
      show(id, turn);
    }
    return { ...turn, state: "done" };
  } catch (error) {
    if (signal.aborted || isLeaving) return { ...turn, state: "stopped" };
    const { message, canRetry } = failureOf(error);
    return { ...turn, state: "failed", failure: { message, canRetry } };
  }
}

function withPiece(turn: AnswerTurn, piece: Piece, firstTokenMs: number, restMs: number) {
  switch (piece.type) {
    case "text":
      return { ...turn, content: turn.content + piece.text };
    case "thought":
      return { ...turn, thoughts: (turn.thoughts ?? "") + piece.text };
    case "finish":
      return { ...turn, cut: piece.cut };
    case "retrieval":
      return { ...turn, retrieval: piece.retrieval };
    case "usage": {
      const { prompt_tokens: promptTokens, completion_tokens: tokens } = piece.usage;
      return { ...turn, measures: { promptTokens, tokens, firstTokenMs, restMs } };
    }
  }
}

const show = (id: string, turn: AnswerTurn): void => changeTurn(id, turn.id, () => turn);

function spoken({ state, content, failure }: AnswerTurn): string {
  if (state === "failed") return failure?.message ?? "";
  return state === "stopped" ? "Stopped." : `Answer: ${content}`;
}
