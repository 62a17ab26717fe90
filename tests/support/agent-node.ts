/**
 * A whole node whose chat model plays the model of an agent: it calls the tool that fits the task, and
 * answers with what the tool said. All but what it says is real: HTTP, keys, limits, stored responses,
 * and the engine that counts its tokens and has to hold the schemas of the tools that it calls.
 */

import { promptTooLong } from "../../src/core/chat/context-room.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  CompletionRequest,
  Finish,
  GenerationEvent,
  GenerationRequest,
  Tool,
  ToolUse,
} from "../../src/core/ports/chat-engine.ts";
import { greedy } from "./greedy.ts";
import { type TinyNode, type TinyNodeOptions, tinyNode } from "./tiny-node.ts";

/** Which tools the model knows how to call for the task, and with what: the first that is offered. */
export type Calls = Readonly<Record<string, object>>;

export interface AgentNode extends TinyNode {
  agent: AgentEngine;
}

export const agentModel = "tiny-chat";

/** A text with this in it is the task; every other one is answered with `plainAnswer`. */
const task = "note.txt";
export const plainAnswer = "Llamas hum when they are content.";

/** A text with this in it is answered until the client leaves, or nearly so. */
export const endless = "for ever";
const mostPieces = 200_000;

/** Enough for the prompts of agents; a token is four characters. */
const contextSize = 131_072;
const charactersPerToken = 4;

export async function agentNode(calls: Calls, options: TinyNodeOptions = {}): Promise<AgentNode> {
  const node = await tinyNode({ chatSettings: "ctx_size = 4096", ...options });
  const { models } = node.node.services;
  const model = models.chat(agentModel);
  const agent = new AgentEngine(model.engine, calls);
  const settings = { ...model.card.settings, ctxSize: contextSize };
  models.add({ ...model, type: "chat", engine: agent, card: { ...model.card, settings } });
  return { ...node, agent };
}

class AgentEngine implements ChatEngine {
  contextSize = contextSize;
  /** What it was asked, for transcripts. */
  readonly requests: GenerationRequest[] = [];
  /** How many answers were left before their end. */
  abandoned = 0;
  readonly #real: ChatEngine;
  readonly #calls: Calls;

  constructor(real: ChatEngine, calls: Calls) {
    this.#real = real;
    this.#calls = calls;
  }

  async countTokens(
    messages: readonly ChatMessage[],
    tools: readonly Tool[] = [],
  ): Promise<number> {
    return Math.ceil(JSON.stringify([messages, tools]).length / charactersPerToken);
  }

  async *generate(
    request: GenerationRequest | CompletionRequest,
    options: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    if ("prompt" in request) throw new Error("An agent is asked with messages");
    this.requests.push(request);
    const { messages, toolUse } = request;
    const promptTokens = await this.countTokens(messages, toolUse?.tools);
    if (promptTokens >= this.contextSize) throw promptTooLong(promptTokens, this.contextSize);
    options.onStart?.(promptTokens);
    const call = toolUse && this.#callFor(messages, toolUse);
    const events = call === undefined ? said(request) : called(call, messages.length);
    if (call !== undefined && toolUse !== undefined) await this.#prove(call.name, toolUse, options);
    let isWhole = false;
    let pieces = 0;
    try {
      for (const event of events) {
        options.signal.throwIfAborted();
        // A turn of the loop between pieces, so that whoever leaves is seen to leave.
        await new Promise((resolve) => setImmediate(resolve));
        pieces++;
        yield event;
      }
      isWhole = true;
      const reason = call === undefined ? "stop" : "tool_calls";
      yield finished(reason, { promptTokens, completionTokens: pieces });
    } finally {
      if (!isWhole) this.abandoned++;
    }
  }

  /** Undefined where the answer is a text: there is no task, or its tool has answered. */
  #callFor(messages: readonly ChatMessage[], { tools, choice }: ToolUse): Call | undefined {
    const last = messages.findLastIndex(({ role }) => role === "user");
    const isAnswered = messages.slice(last + 1).some(({ role }) => role === "tool");
    const isAsked = messages[last]?.content.includes(task) === true || choice !== "auto";
    if (!isAsked || (isAnswered && choice === "auto")) return undefined;
    const names = typeof choice === "object" ? [choice.name] : tools.map(({ name }) => name);
    const known = Object.entries(this.#calls).find(([name]) => names.includes(name));
    return known && { name: known[0], arguments: known[1] };
  }

  /** The real engine must be able to hold the tool's schema. */
  async #prove(name: string, { tools, parallel }: ToolUse, options: CallOptions): Promise<void> {
    const { signal } = options;
    const events = this.#real.generate(
      {
        messages: [{ role: "user", content: "Call it." }],
        toolUse: {
          tools: tools.filter((tool) => tool.name === name).map(withoutWords),
          choice: { name },
          parallel,
        },
        sampling: greedy,
        maxTokens: 4,
      },
      { signal },
    );
    for await (const event of events) if (event.type === "finish") return;
  }
}

/** The descriptions of an agent's tools are longer than the tiny model's context. */
const withoutWords = ({ description: _, ...tool }: Tool): Tool => ({
  ...tool,
  parameters: JSON.parse(
    JSON.stringify(tool.parameters ?? {}, (key, value) =>
      key === "description" && typeof value === "string" ? undefined : value,
    ),
  ),
});

interface Call {
  name: string;
  arguments: object;
}

function* said({ messages }: GenerationRequest): Generator<GenerationEvent> {
  const last = messages.at(-1);
  const text =
    last?.role === "tool" ? `The tool says: ${last.content.slice(0, 2000)}` : plainAnswer;
  const asked = messages.findLast(({ role }) => role === "user");
  const times = asked?.content.includes(endless) === true ? mostPieces : 1;
  for (let time = 0; time < times; time++) {
    for (const piece of pieces(text)) yield { type: "text", text: piece };
  }
}

const called = ({ name, arguments: given }: Call, turn: number): GenerationEvent[] => [
  { type: "tool-call", index: 0, id: `call_${turn}`, name },
  ...pieces(JSON.stringify(given)).map(
    (text): GenerationEvent => ({ type: "tool-arguments", index: 0, text }),
  ),
];

/** As words come from a model. */
const pieces = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];

const finished = (
  reason: Finish["reason"],
  usage: Pick<Finish["usage"], "promptTokens" | "completionTokens">,
): Finish => ({ type: "finish", reason, usage: { cachedTokens: 0, reasoningTokens: 0, ...usage } });
