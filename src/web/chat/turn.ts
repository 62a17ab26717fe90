/** Sends a question, and shows the answer until it ends, fails or is stopped. */
import type { ChatRequest } from "../../client/api-client.ts";
import { announce, newId } from "../browser.ts";
import { api, withKey } from "../client.ts";
import { failureOf } from "../failure.ts";
import { chatModels, modelList, pollNode } from "../node/state.ts";
import {
  type AnswerTurn,
  hasText,
  titleFrom,
  toRequest,
  type UserTurn,
  untitled,
  withChunk,
} from "./conversation.ts";
import { giveImagesTo, imagesOfTurn } from "./images.tsx";
import { change, changeTurn, conversations, current, persist, startConversation } from "./store.ts";

/** Chunks within this time are rendered together. */
const frameMs = 40;

/** Stops answers in progress, by conversation id. */
const running = new Map<string, AbortController>();

export async function send(question: string): Promise<void> {
  const { id } = current.value ?? startConversation();
  if (running.has(id)) return;
  const turnId = newId();
  const images = giveImagesTo(turnId);
  const turn: UserTurn = {
    ...{ id: turnId, role: "user", content: question },
    ...(images === 0 ? {} : { images }),
  };
  change(id, (one) => ({
    ...one,
    title: one.title === untitled ? titleFrom(question) : one.title,
    turns: [...one.turns, turn],
  }));
  await answer(id);
}

/** Drops the last answer, and sends its question a second time. */
export async function retry(id: string): Promise<void> {
  if (running.has(id)) return;
  change(id, (one) => {
    const last = one.turns.findLastIndex(({ role }) => role === "user");
    return { ...one, turns: one.turns.slice(0, last + 1) };
  });
  await answer(id);
}

export const stop = (id: string): void => running.get(id)?.abort();

/** A browser that leaves the page breaks its connections, which is not a failure. */
let isLeaving = false;
const stayedMs = 1000;
addEventListener("beforeunload", () => {
  isLeaving = true;
  // The user may decide to stay on the page.
  setTimeout(() => {
    isLeaving = false;
  }, stayedMs);
});

async function answer(id: string): Promise<void> {
  const conversation = conversations.value.find((one) => one.id === id);
  if (conversation === undefined || running.has(id)) return;
  const controller = new AbortController();
  running.set(id, controller);
  const turn: AnswerTurn = {
    id: newId(),
    role: "assistant",
    content: "",
    model: conversation.settings.model,
    state: "writing",
  };
  const own = chatModels.value.find(({ name }) => name === turn.model)?.n_predict ?? -1;
  const request = toRequest(conversation, { isLimited: own > 0, imagesOf: imagesOfTurn });
  change(id, (one) => ({ ...one, turns: [...one.turns, turn] }));
  persist();
  announce("The node is answering.");
  const ended = await stream(id, turn, request, controller.signal);
  running.delete(id);
  show(id, ended);
  // Its question has loaded it.
  if (modelList.value.find((one) => one.id === turn.model)?.loaded === false) void pollNode();
  persist();
  announce(spoken(ended));
}

/** Shows the answer as it grows; returns the final one. */
async function stream(
  id: string,
  begun: AnswerTurn,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<AnswerTurn> {
  const askedAt = performance.now();
  let turn = begun;
  let firstAt: number | undefined;
  let lastAt = askedAt;
  let shownAt = 0;
  try {
    const chunks = await withKey(() => api.streamChat(request, { signal }), signal);
    for await (const chunk of chunks) {
      if (hasText(chunk)) {
        lastAt = performance.now();
        firstAt ??= lastAt;
      }
      const start = firstAt ?? lastAt;
      const timing = { firstTokenMs: start - askedAt, restMs: lastAt - start };
      const grown = withChunk(turn, chunk, timing);
      if (grown === turn) continue;
      turn = grown;
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

const show = (id: string, turn: AnswerTurn): void => changeTurn(id, turn.id, () => turn);

function spoken({ state, content, failure }: AnswerTurn): string {
  if (state === "failed") return failure?.message ?? "";
  return state === "stopped" ? "Stopped." : `Answer: ${content}`;
}
