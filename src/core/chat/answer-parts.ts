/** Collects an answer's events into its parts, in order: reasoning, text and tool calls. */
import { NodeError } from "../errors.ts";
import type { Finish, GenerationEvent, TokenLogprobs } from "../ports/chat-engine.ts";
import type { ChatAnswer } from "./chat-service.ts";

export type AnswerPart =
  | { type: "text"; text: string; logprobs: TokenLogprobs[] | undefined }
  | { type: "reasoning"; text: string }
  /** `text`: the arguments. */
  | { type: "call"; id: string; name: string; text: string };

interface PartChange {
  ended?: AnswerPart;
  begun?: AnswerPart;
}

export interface WholeAnswer {
  parts: readonly AnswerPart[];
  finish: Finish;
}

export class AnswerParts {
  readonly #parts: AnswerPart[] = [];
  readonly #calls = new Map<number, AnswerPart>();
  readonly #isInOrder: boolean;
  #finish: Finish | undefined;

  /** `isInOrder`: the API sends one call after the other, so interleaved calls are an error. */
  constructor({ isInOrder }: { isInOrder: boolean }) {
    this.#isInOrder = isInOrder;
  }

  get all(): readonly AnswerPart[] {
    return this.#parts;
  }

  add(event: GenerationEvent): PartChange {
    const last = this.#parts.at(-1);
    switch (event.type) {
      case "text": {
        if (last?.type !== "text") {
          const logprobs = event.logprobs && [...event.logprobs];
          return this.#begin({ type: "text", text: event.text, logprobs });
        }
        last.text += event.text;
        if (event.logprobs !== undefined) {
          last.logprobs ??= [];
          last.logprobs.push(...event.logprobs);
        }
        return {};
      }
      case "reasoning":
        if (last?.type !== "reasoning") return this.#begin({ ...event });
        last.text += event.text;
        return {};
      case "tool-call": {
        const { id, name } = event;
        const call: AnswerPart = { type: "call", id, name, text: "" };
        this.#calls.set(event.index, call);
        return this.#begin(call);
      }
      case "tool-arguments": {
        const call = this.#calls.get(event.index);
        if (this.#isInOrder && (call === undefined || call !== last)) {
          const why = "The server that runs the model mixed the arguments of two tool calls.";
          throw new NodeError("upstream_failed", why);
        }
        if (call !== undefined) call.text += event.text;
        return {};
      }
      case "finish":
        this.#finish = event;
        return last === undefined ? {} : { ended: last };
    }
  }

  whole(): WholeAnswer {
    if (this.#finish === undefined) throw unfinished();
    return { parts: this.#parts, finish: this.#finish };
  }

  #begin(part: AnswerPart): PartChange {
    const ended = this.#parts.at(-1);
    this.#parts.push(part);
    return ended === undefined ? { begun: part } : { ended, begun: part };
  }
}

/** Reads all answers to their end; the result is in the order of the choices. */
export async function readWhole({
  choices,
  events,
}: Pick<ChatAnswer, "choices" | "events">): Promise<WholeAnswer[]> {
  const answers = Array.from({ length: choices }, () => new AnswerParts({ isInOrder: false }));
  const room = new AnswerRoom();
  for await (const { index, value } of events) {
    room.take(value);
    answers[index]?.add(value);
  }
  return answers.map((answer) => answer.whole());
}

/** Characters of an answer, or of all answers to a request that are held until the last has ended. */
export const mostCharacters = 16 * 1024 * 1024;
/** What a log probability counts as: it takes an object, and as much again as JSON. */
const charactersPerLogprob = 16;

/** What is left for the answers to one request, which are held until all have ended. */
export class AnswerRoom {
  #left = mostCharacters;

  /** Throws if there is no room for the event. A prompt that is repeated is the caller's own. */
  take(event: GenerationEvent): void {
    if (event.type === "text" && event.echoed === true) return;
    this.#left -= charactersOf(event);
    if (event.type === "text") {
      for (const { top } of event.logprobs ?? [])
        this.#left -= (1 + top.length) * charactersPerLogprob;
    }
    if (this.#left >= 0) return;
    const why = `The server that runs the model sent more than ${mostCharacters} characters for this request, log probabilities included. Ask for fewer answers, or for a stream.`;
    throw new NodeError("upstream_failed", why);
  }
}

export function charactersOf(event: GenerationEvent): number {
  if ("text" in event) return event.text.length;
  return event.type === "tool-call" ? event.id.length + event.name.length : 0;
}

export const unfinished = (): NodeError =>
  new NodeError("internal", "The model's answer ended without a reason.");
