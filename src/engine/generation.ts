/** One answer: from the evaluated prompt to its finish, through thoughts, text and tool calls. */
import type { LlamaGrammarEvaluationState, LlamaModel, Token, TokenBias } from "node-llama-cpp";
import type {
  FinishReason,
  GenerationEvent,
  GenerationRequest,
  TokenLogprobs,
} from "../core/ports/chat-engine.ts";
import { toLogprobs } from "./logprobs.ts";
import type { Prompt } from "./prompt.ts";
import { toEvaluateOptions } from "./sampling.ts";
import { type Segment, Segmenter } from "./segmenter.ts";
import type { Slot } from "./slots.ts";
import { type TokenText, textStream } from "./text-stream.ts";
import type { TokenBytes } from "./token-bytes.ts";
import { ToolCallParser } from "./tool-call-parser.ts";

/** The grammars of an answer's two phases. */
export interface AnswerShape {
  /** Holds the text, if anything does. */
  text: LlamaGrammarEvaluationState | undefined;
  /** Holds the calls, where tools are offered. */
  calls: LlamaGrammarEvaluationState | undefined;
}

export interface GenerationOptions {
  model: LlamaModel;
  tokenBytes: TokenBytes;
  prompt: Prompt;
  request: GenerationRequest;
  bias: TokenBias | undefined;
  shape: AnswerShape;
  maxTokens: number;
}

interface Sampled extends TokenText {
  logprobs: TokenLogprobs[];
}

export class Generation {
  readonly #options: GenerationOptions;
  readonly #segmenter: Segmenter;
  /** The tokens of the answer so far. */
  readonly #generated: Token[] = [];
  #reasoningTokens = 0;

  constructor(options: GenerationOptions) {
    const { prompt, request } = options;
    this.#options = options;
    this.#segmenter = new Segmenter(
      { ...prompt.markers, stops: request.stop ?? [] },
      { startsInThought: prompt.startsInThought },
    );
  }

  /** Generates after the prompt's last tokens, which are evaluated with the first token. */
  async *run(
    slot: Slot,
    rest: readonly Token[],
    cachedTokens: number,
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent> {
    const { toolUse } = this.#options.request;
    const forced = toolUse !== undefined && toolUse.choice !== "auto";
    const outcome = forced ? ({ call: 0 } as const) : yield* this.#writeText(slot, rest, signal);
    const reason =
      "reason" in outcome ? outcome.reason : yield* this.#writeCalls(slot, outcome.call, signal);
    signal.throwIfAborted();
    yield {
      type: "finish",
      reason,
      usage: {
        promptTokens: this.#options.prompt.tokens.length,
        cachedTokens,
        completionTokens: this.#generated.length,
        reasoningTokens: this.#reasoningTokens,
      },
    };
  }

  /** Writes thoughts and text until the end, or until a call begins after so many tokens. */
  async *#writeText(
    slot: Slot,
    rest: readonly Token[],
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent, { reason: FinishReason } | { call: number }> {
    const { text } = this.#options.shape;
    // A thought is free; the grammar is for the answer.
    const grammar = text && (() => (this.#segmenter.inThought ? undefined : text));
    for await (const piece of this.#sample(slot, rest, grammar, signal)) {
      const start = this.#generated.length - piece.tokens;
      for (const segment of this.#segmenter.push({ ...piece, start })) {
        if (segment.type === "end") return { reason: "stop" };
        if (segment.type === "call") return { call: segment.start };
        const event = this.#toEvent(segment);
        if (event !== undefined) yield event;
      }
    }
    for (const segment of this.#segmenter.end()) {
      if (segment.type === "call") return { call: segment.start };
      const event = this.#toEvent(segment);
      if (event !== undefined) yield event;
    }
    return { reason: this.#full ? "length" : "stop" };
  }

  /** Rewinds to where the call began, opens it as the template does, and lets the grammar hold the rest. */
  async *#writeCalls(
    slot: Slot,
    start: number,
    signal: AbortSignal,
  ): AsyncGenerator<GenerationEvent, FinishReason> {
    const { prompt, request, shape, maxTokens } = this.#options;
    const { sequence } = slot;
    const { syntax, opening, parallel } = prompt.calls;
    this.#generated.splice(start);
    if (this.#generated.length + opening.length >= maxTokens) return "length";
    const kept = [...prompt.tokens, ...this.#generated];
    const { nextTokenIndex } = sequence;
    const keep = Math.min(nextTokenIndex, kept.length);
    if (keep < nextTokenIndex) {
      await sequence.eraseContextTokenRanges([{ start: keep, end: nextTokenIndex }]);
    }
    const feed = [...kept.slice(keep), ...opening];
    this.#generated.push(...opening);
    const names = (request.toolUse?.tools ?? []).map(({ name }) => name);
    const parser = new ToolCallParser(names, syntax);
    const several = parallel && request.toolUse?.parallel === true && !isNamed(request);
    for await (const { raw } of this.#sample(slot, feed, () => shape.calls, signal)) {
      for (const part of parser.push(raw)) {
        yield part.type === "name"
          ? { type: "tool-call", index: part.index, id: callId(), name: part.name }
          : { type: "tool-arguments", index: part.index, text: part.text };
      }
      if (parser.complete && !several) return "tool_calls";
    }
    return parser.complete && !this.#full ? "tool_calls" : "length";
  }

  /** Samples tokens after the given ones, as pieces of whole characters, until the end or the bound. */
  async *#sample(
    slot: Slot,
    tokens: readonly Token[],
    grammar: (() => LlamaGrammarEvaluationState | undefined) | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Sampled> {
    const { model, tokenBytes, request, bias } = this.#options;
    const { sequence } = slot;
    const { topLogprobs } = request;
    const text = textStream(model, tokenBytes);
    const options = toEvaluateOptions(request, {
      generated: this.#generated,
      contextSize: sequence.contextSize,
      bias,
      ...(grammar === undefined ? {} : { grammar }),
    });
    let logprobs: TokenLogprobs[] = [];
    const outputs =
      topLogprobs === undefined
        ? sequence.evaluateWithMetadata([...tokens], {}, options)
        : sequence.evaluateWithMetadata([...tokens], { probabilities: true }, options);
    for await (const output of outputs) {
      slot.promptReady();
      signal.throwIfAborted();
      const { token } = output;
      this.#generated.push(token);
      if (
        topLogprobs !== undefined &&
        "probabilities" in output &&
        output.probabilities instanceof Map
      ) {
        logprobs.push(toLogprobs(tokenBytes, token, output.probabilities, topLogprobs));
      }
      const piece = text.push(token);
      if (piece !== undefined) {
        yield { ...piece, logprobs };
        logprobs = [];
      }
      if (this.#full) return;
    }
    signal.throwIfAborted();
  }

  get #full(): boolean {
    return this.#generated.length >= this.#options.maxTokens;
  }

  #toEvent(segment: Segment): GenerationEvent | undefined {
    if (segment.type === "reasoning") {
      this.#reasoningTokens += segment.tokens;
      return segment.text === "" ? undefined : { type: "reasoning", text: segment.text };
    }
    if (segment.type !== "text") return undefined;
    const { text, logprobs } = segment;
    if (this.#options.request.topLogprobs === undefined) return { type: "text", text };
    return { type: "text", text, logprobs };
  }
}

const isNamed = ({ toolUse }: GenerationRequest): boolean => typeof toolUse?.choice === "object";

const callId = (): string => `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
