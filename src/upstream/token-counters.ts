/** Counts tokens with the server that has the model, where it does that. */
import type { ChatMessage, Tool } from "../core/ports/chat-engine.ts";
import { askJson, garbage, type Question } from "./ask.ts";
import { toWireTools, withMessages } from "./chat-request.ts";
import { countAt, listAt, textAt } from "./json-fields.ts";
import type { ServerKind } from "./server-kind.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

export type ChatCounter = (
  messages: readonly ChatMessage[],
  tools: readonly Tool[],
  signal: AbortSignal,
) => Promise<number>;

/** How many tokens each text has, with the model's own markers. */
export type TextCounter = (texts: readonly string[], signal: AbortSignal) => Promise<number[]>;

/** Undefined where such a server counts no conversations. */
export function chatCounter(target: UpstreamTarget, kind: ServerKind): ChatCounter | undefined {
  const { upstreamModel: model } = target;
  const ask = asker(target, "messages");
  const bodyOf = (fields: object, messages: readonly ChatMessage[], tools: readonly Tool[]) =>
    withMessages(tools.length === 0 ? fields : { ...fields, tools: toWireTools(tools) }, messages);
  if (kind === "vllm") {
    return async (messages, tools, signal) => {
      const answer = await ask("/tokenize", bodyOf({ model }, messages, tools), signal);
      return counted(target, countAt(answer, "count"));
    };
  }
  if (kind !== "llama-server") return undefined;
  return async (messages, tools, signal) => {
    const rendered = await ask("/apply-template", bodyOf({}, messages, tools), signal);
    return await countLlama(target, textAt(rendered, "prompt") ?? "", signal);
  };
}

/** Undefined where such a server counts no texts. */
export function textCounter(target: UpstreamTarget, kind: ServerKind): TextCounter | undefined {
  const { upstreamModel: model } = target;
  const ask = asker(target, "input");
  switch (kind) {
    case "vllm":
      return oneByOne(async (prompt, signal) => {
        const answer = await ask("/tokenize", JSON.stringify({ model, prompt }), signal);
        return counted(target, countAt(answer, "count"));
      });
    case "llama-server":
      return oneByOne((text, signal) => countLlama(target, text, signal));
    case "tei":
      return oneByOne(async (inputs, signal) => {
        const answer = await ask("/tokenize", JSON.stringify({ inputs }), signal);
        const [tokens] = Array.isArray(answer) ? answer : [];
        return counted(target, Array.isArray(tokens) ? tokens.length : undefined);
      });
    default:
      return undefined;
  }
}

async function countLlama(target: UpstreamTarget, content: string, signal: AbortSignal) {
  const body = JSON.stringify({ content, add_special: true, parse_special: true });
  const answer = await asker(target, "input")("/tokenize", body, signal);
  return counted(target, listAt(answer, "tokens").length);
}

const asker =
  (target: UpstreamTarget, field: "messages" | "input") =>
  async (path: string, body: Body, signal: AbortSignal): Promise<unknown> =>
    await askJson(target, { path, body, isBesideVersion: true, field }, { signal });

type Body = NonNullable<Question["body"]>;

function counted(target: UpstreamTarget, count: number | undefined): number {
  if (count !== undefined) return count;
  throw garbage(target, "a count of tokens that is none");
}

/** Requests for one count each that are under way at the same time. */
const atOnce = 8;

const oneByOne =
  (count: (text: string, signal: AbortSignal) => Promise<number>): TextCounter =>
  async (texts, signal) => {
    const counts = new Array<number>(texts.length).fill(0);
    const waiting = texts.entries();
    const work = async (): Promise<void> => {
      for (const [at, text] of waiting) counts[at] = await count(text, signal);
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, texts.length) }, work));
    return counts;
  };
