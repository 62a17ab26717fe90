/** Generates one answer: a coroutine, resumed per token, that emits reasoning, text and tool calls. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { given } from "../../core/given.ts";
import type {
  FinishReason,
  GenerationEvent,
  GenerationSettings,
  TokenLogprobs,
  ToolUse,
} from "../../core/ports/chat-engine.ts";
import type { Sampled } from "../native/contexts.ts";
import type { GrammarState } from "../native/sampler.ts";
import type { Prompt } from "../prompt/prompt-template.ts";
import type { Feed, PromptScores } from "../scheduling/answer.ts";
import type { TokenBytes } from "../tokenizer/vocabulary.ts";
import { type AnswerSampler, describe, toLogprobs } from "./sampling.ts";
import { type Piece, type Segment, Segmenter, type TextStream, textStream } from "./segmenter.ts";
import { ToolCallParser } from "./tool-call-parser.ts";

export interface AnswerShape {
  text: GrammarState | undefined;
  calls: GrammarState | undefined;
}

interface GenerationOptions {
  model: LlamaModel;
  tokenBytes: TokenBytes;
  prompt: Prompt;
  request: GenerationSettings;
  toolUse?: ToolUse | undefined;
  shape: AnswerShape;
  maxTokens: number;
  scoresPrompt?: boolean;
}

interface Writing {
  text: TextStream;
  grammar: () => GrammarState | undefined;
  feed: Feed;
}

/** Yields what is to be evaluated, and is resumed with the token sampled after it. */
type Steps<Result> = Generator<Feed, Result, Sampled>;

export class Generation {
  readonly #options: GenerationOptions;
  readonly #segmenter: Segmenter;
  readonly #generated: Token[] = [];
  #reasoningTokens = 0;
  readonly echo: PromptEcho;
  cachedTokens = 0;

  constructor(options: GenerationOptions) {
    const { prompt, request, tokenBytes, scoresPrompt = false } = options;
    this.#options = options;
    this.echo = new PromptEcho(prompt, tokenBytes, scoresPrompt ? request.topLogprobs : undefined);
    this.#segmenter = new Segmenter(
      { ...prompt.markers, stops: request.stop ?? [] },
      { startsInThought: prompt.startsInThought },
    );
  }

  /** How many of the likeliest tokens are reported beside each; absent: no log probabilities. */
  get topLogprobs(): number | undefined {
    return this.#options.request.topLogprobs;
  }

  get room(): number {
    return this.#options.maxTokens - this.#generated.length;
  }

  *write(sampler: AnswerSampler, emit: Emit): Steps<void> {
    const { toolUse, prompt } = this.#options;
    if (!this.echo.isScored) this.echo.emit(emit);
    else if (this.#full) {
      // No answer is requested: the prompt is evaluated only for its scores.
      sampler.use(undefined, []);
      yield { tokens: [] };
    }
    const forced = toolUse !== undefined && toolUse.choice !== "auto";
    const outcome = forced ? ({ call: 0 } as const) : yield* this.#writeText(sampler, emit);
    const end =
      "reason" in outcome
        ? outcome
        : { reason: yield* this.#writeCalls(sampler, outcome.call, emit) };
    emit({
      type: "finish",
      ...end,
      usage: {
        promptTokens: prompt.tokens.length,
        cachedTokens: this.cachedTokens,
        completionTokens: this.#generated.length,
        reasoningTokens: this.#reasoningTokens,
      },
    });
  }

  /** Writes reasoning and text until the end, or until a tool call begins; `call` is after how many tokens. */
  *#writeText(
    sampler: AnswerSampler,
    emit: Emit,
  ): Steps<{ reason: FinishReason; stop?: string } | { call: number }> {
    const { text } = this.#options.shape;
    const writing: Writing = {
      text: this.#textStream(),
      // Reasoning is unconstrained; the grammar is for the text after it.
      grammar: () => (this.#segmenter.inThought ? undefined : text),
      feed: { tokens: [] },
    };
    for (;;) {
      const piece = yield* this.#piece(sampler, writing);
      if (piece === undefined) {
        if (text === undefined || this.#full || !this.#segmenter.inThought) break;
        writing.feed = this.#closeThought(emit);
        // It may have ended within a character, which is no part of the answer.
        writing.text = this.#textStream();
        continue;
      }
      for (const segment of this.#segmenter.push(piece)) {
        if (segment.type === "end") return { reason: "stop", ...given({ stop: segment.stop }) };
        if (segment.type === "call") return { call: segment.start };
        this.#emitSegment(segment, emit);
      }
    }
    for (const segment of this.#segmenter.end()) {
      if (segment.type === "call") return { call: segment.start };
      this.#emitSegment(segment, emit);
    }
    return { reason: this.#full ? "length" : "stop" };
  }

  /** A model that ended within its thought still owes the answer that a grammar was given for. */
  #closeThought(emit: Emit): Feed {
    for (const segment of this.#segmenter.end()) this.#emitSegment(segment, emit);
    const close = this.#options.model.tokenize(this.#segmenter.closeThought(), true);
    const feed = this.#feedAfter(this.#generated.length, close);
    this.#generated.push(...close);
    return feed;
  }

  /** Rewinds to where the call began, opens it as the template does, and generates the rest under the grammar. */
  *#writeCalls(sampler: AnswerSampler, start: number, emit: Emit): Steps<FinishReason> {
    const { prompt, toolUse, shape, maxTokens } = this.#options;
    const { syntax, opening, parallel } = prompt.calls;
    const sampled = this.#generated.length;
    this.#generated.splice(start);
    if (this.#generated.length + opening.length >= maxTokens) return "length";
    const writing: Writing = {
      text: this.#textStream(),
      grammar: () => shape.calls,
      feed: sampled === 0 ? { tokens: opening } : this.#feedAfter(start, opening),
    };
    this.#generated.push(...opening);
    const names = (toolUse?.tools ?? []).map(({ name }) => name);
    const parser = new ToolCallParser(names, syntax);
    const several = parallel && toolUse?.parallel === true && typeof toolUse.choice !== "object";
    for (;;) {
      const piece = yield* this.#piece(sampler, writing);
      if (piece === undefined) break;
      for (const part of parser.push(piece.raw)) {
        emit(
          part.type === "name"
            ? { type: "tool-call", index: part.index, id: callId(), name: part.name }
            : { type: "tool-arguments", index: part.index, text: part.text },
        );
      }
      if (parser.complete && !several) return "tool_calls";
    }
    return parser.complete && !this.#full ? "tool_calls" : "length";
  }

  /** Rewinds to `start` tokens of the answer; without an opening, re-evaluates the last one. */
  #feedAfter(start: number, opening: readonly Token[]): Feed {
    const rest = [...this.#options.prompt.tokens, ...this.#generated.slice(0, start)];
    if (opening.length > 0) return { rewindTo: rest.length, tokens: opening };
    return { rewindTo: rest.length - 1, tokens: rest.slice(-1) };
  }

  /** The next piece of whole characters; undefined: the model has ended, or its token limit is reached. */
  *#piece(sampler: AnswerSampler, writing: Writing): Steps<Piece | undefined> {
    const { model, tokenBytes } = this.#options;
    const logprobs: TokenLogprobs[] = [];
    while (!this.#full) {
      const isOther = sampler.use(writing.grammar(), this.#generated);
      const sampled = yield isOther ? { ...writing.feed, changesSampler: true } : writing.feed;
      const { token } = sampled;
      writing.feed = { tokens: [token] };
      if (model.isEogToken(token)) return undefined;
      this.#generated.push(token);
      if ("logit" in sampled) {
        logprobs.push(toLogprobs(tokenBytes, sampled, this.topLogprobs ?? 0));
      }
      const piece = writing.text.push(token);
      if (piece !== undefined) {
        return { ...piece, logprobs, start: this.#generated.length - piece.tokens };
      }
    }
    return undefined;
  }

  get #full(): boolean {
    return this.room <= 0;
  }

  #textStream(): TextStream {
    const { model, tokenBytes, prompt } = this.#options;
    return textStream(model, tokenBytes, prompt.isRaw === true ? prompt.tokens : []);
  }

  #emitSegment(segment: Segment, emit: Emit): void {
    if (segment.type === "reasoning") {
      this.#reasoningTokens += segment.tokens;
      if (segment.text !== "") emit({ type: "reasoning", text: segment.text });
    } else if (segment.type === "text") {
      const { text, logprobs } = segment;
      emit({ type: "text", text, ...(this.topLogprobs === undefined ? {} : { logprobs }) });
    }
  }
}

const callId = (): string => `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;

type Emit = (event: GenerationEvent) => void;

/** Tokens per event with log probabilities: the node spends milliseconds on each event. */
const tokensOfPart = 256;

/** The prompt before its answer, for completions with `echo`, with log probabilities if requested. */
class PromptEcho {
  readonly #tokenBytes: TokenBytes;
  readonly #top: number | undefined;
  /** The first part has all of the text. */
  #text: string;
  #unsent: TokenLogprobs[] = [];

  /** `top`: how many alternatives to each token are reported; undefined: no log probabilities. */
  constructor({ tokens, echoed = "" }: Prompt, tokenBytes: TokenBytes, top: number | undefined) {
    this.#text = echoed;
    this.#tokenBytes = tokenBytes;
    this.#top = top;
    const [first] = tokens;
    if (top === undefined || first === undefined) return;
    // Nothing comes before the first token, so nothing scores it.
    this.#unsent.push({ ...describe(tokenBytes, first, 0), top: [] });
  }

  /** Whether it is emitted only after the prompt has been evaluated. */
  get isScored(): boolean {
    return this.#top !== undefined;
  }

  scores(scorer: PromptScores["scorer"], emit: Emit): PromptScores {
    const top = this.#top ?? 0;
    return {
      scorer,
      top,
      take: (logits) => {
        this.#unsent.push(toLogprobs(this.#tokenBytes, logits, top));
        if (this.#unsent.length === tokensOfPart) this.emit(emit);
      },
    };
  }

  emit(emit: Emit): void {
    const [text, logprobs] = [this.#text, this.#unsent];
    if (text === "" && logprobs.length === 0) return;
    emit({ type: "text", text, ...(this.isScored ? { logprobs } : {}), echoed: true });
    this.#text = "";
    this.#unsent = [];
  }
}
