/** Chat on llama.cpp: one context whose sequences generate side by side. */
import type {
  LlamaContext,
  LlamaContextSequence,
  LlamaModel,
  SequenceEvaluateOptions,
  Token,
} from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";
import type {
  ChatEngine,
  GenerationEvent,
  GenerationRequest,
  Sampling,
} from "../core/ports/chat-engine.ts";
import type { PromptTemplate } from "./prompt.ts";
import { Slots } from "./slots.ts";
import { TextStream } from "./text-stream.ts";

export class LlamaChatEngine implements ChatEngine {
  readonly #model: LlamaModel;
  readonly #context: LlamaContext;
  readonly #template: PromptTemplate;
  readonly #slots: Slots;

  constructor(model: LlamaModel, context: LlamaContext, template: PromptTemplate) {
    this.#model = model;
    this.#context = context;
    this.#template = template;
    this.#slots = new Slots(context);
  }

  async *generate(
    { messages, sampling, maxTokens }: GenerationRequest,
    { signal }: { signal: AbortSignal },
  ): AsyncGenerator<GenerationEvent> {
    const prompt = this.#template.render(messages);
    const promptTokens = prompt.tokens.length;
    const most = Math.min(maxTokens ?? Number.POSITIVE_INFINITY, this.#room(promptTokens));
    using slot = await this.#slots.take(prompt.tokens, signal);
    const last = await evaluatePrompt(slot.sequence, prompt.tokens, signal);

    const generated: Token[] = [];
    const text = new TextStream(this.#model);
    const options = toEvaluateOptions(sampling, generated, this.#context.contextSize);
    const finish = (reason: "stop" | "length"): GenerationEvent => ({
      type: "finish",
      reason,
      usage: { promptTokens, completionTokens: generated.length },
    });
    for await (const token of slot.sequence.evaluate([last], options)) {
      signal.throwIfAborted();
      if (prompt.stopTokens.has(token)) break;
      generated.push(token);
      const piece = text.push(token);
      if (piece !== "") yield { type: "text", text: piece };
      if (generated.length >= most) {
        yield finish("length");
        return;
      }
    }
    signal.throwIfAborted();
    yield finish("stop");
  }

  /** How many tokens the context has room for after the prompt. */
  #room(promptTokens: number): number {
    const room = this.#context.contextSize - promptTokens;
    if (room > 0) return room;
    throw new NodeError(
      "context_length_exceeded",
      `The messages have ${promptTokens} tokens; with room for an answer, this model's context of ${this.#context.contextSize} tokens holds at most ${this.#context.contextSize - 1}. Shorten the messages.`,
      { param: "messages" },
    );
  }
}

/**
 * Brings the sequence to the prompt without its last token, which it returns: what the sequence
 * already holds is kept, the rest is evaluated batch by batch, so that a caller can leave between.
 */
async function evaluatePrompt(
  sequence: LlamaContextSequence,
  tokens: Token[],
  signal: AbortSignal,
): Promise<Token> {
  const last = tokens.at(-1);
  if (last === undefined) throw new NodeError("internal", "The prompt has no tokens.");
  const head = tokens.slice(0, -1);
  await sequence.adaptStateToTokens(head, false);
  const { batchSize } = sequence.context;
  for (let start = sequence.nextTokenIndex; start < head.length; start += batchSize) {
    signal.throwIfAborted();
    await sequence.evaluateWithoutGeneratingNewTokens(head.slice(start, start + batchSize));
  }
  signal.throwIfAborted();
  return last;
}

function toEvaluateOptions(
  sampling: Sampling,
  generated: Token[],
  contextSize: number,
): SequenceEvaluateOptions {
  const { temperature, topP, repeatPenalty, presencePenalty, frequencyPenalty } = sampling;
  return {
    temperature,
    topP,
    // The library's defaults are not the convention's: no cut by rank, and never the same seed twice.
    topK: 0,
    minP: 0,
    seed: crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
    repeatPenalty: {
      punishTokens: () => generated,
      maxPunishTokens: contextSize,
      penalty: repeatPenalty,
      presencePenalty,
      frequencyPenalty,
    },
  };
}
