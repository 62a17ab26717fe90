/** Chat on llama.cpp: one context whose sequences generate side by side. */
import type { LlamaContext, LlamaModel } from "node-llama-cpp";
import { promptTooLong } from "../core/chat/context-room.ts";
import { NodeError } from "../core/errors.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
  GenerationSettings,
  Tool,
} from "../core/ports/chat-engine.ts";
import { type AnswerShape, Generation } from "./generation/generation.ts";
import { AnswerSampler, type TokenBias, toTokenBias } from "./generation/sampling.ts";
import { CompileTurns } from "./grammar/compile-turns.ts";
import { type Shape, startGrammar } from "./grammar/grammars.ts";
import type { StepThreads, StepWatch } from "./machine/steps.ts";
import { NativeChatContext } from "./native/contexts.ts";
import type { DirectContext } from "./native/direct-context.ts";
import type { NativeSampler } from "./native/sampler.ts";
import {
  beginning,
  type CallStyle,
  type Prompt,
  type PromptTemplate,
} from "./prompt/prompt-template.ts";
import { renderRaw } from "./prompt/raw-prompt.ts";
import { readAnswer } from "./scheduling/answer.ts";
import { KvCache } from "./scheduling/kv-cache.ts";
import { Scheduler } from "./scheduling/scheduler.ts";
import { type Slot, Slots } from "./scheduling/slots.ts";
import { ModelTokenizer } from "./tokenizer/model-tokenizer.ts";

export class LlamaChatEngine implements ChatEngine {
  readonly contextSize: number;
  readonly tokenizer: ModelTokenizer;
  readonly #model: LlamaModel;
  readonly #template: PromptTemplate;
  readonly #slots: Slots;
  readonly #scheduler: Scheduler;
  readonly #compileTurns = new CompileTurns();
  /** One per sequence, reused for its answers: a sampler uses memory of the vocabulary's size. */
  readonly #samplers: readonly NativeSampler[];
  /** The same for prompts whose log probabilities are requested. */
  readonly #scorers = new Map<number, NativeSampler>();
  readonly #native: NativeChatContext;
  readonly #direct: DirectContext | undefined;

  constructor(
    model: LlamaModel,
    context: LlamaContext,
    template: PromptTemplate,
    options: {
      maxQueue: number;
      stepThreads: StepThreads;
      steps: StepWatch;
      direct: DirectContext | undefined;
    },
  ) {
    const native = new NativeChatContext(context, model, options);
    this.#direct = options.direct;
    const cache = new KvCache(native);
    this.contextSize = context.contextSize;
    this.#native = native;
    this.#model = model;
    this.#template = template;
    this.#slots = new Slots(cache, options.maxQueue);
    this.#scheduler = new Scheduler(native, cache, options.steps);
    this.#samplers = cache.sequences.map(() => native.makeSampler());
    const { contextSize } = this;
    this.tokenizer = new ModelTokenizer(model, {
      contextSize,
      withMarkers: (tokens) => beginning(model, tokens),
      render: async ({ messages, tools }, signal) =>
        (await template.render(messages, tools, { most: contextSize, signal }))?.tokens,
    });
  }

  async countTokens(
    messages: readonly ChatMessage[],
    tools?: readonly Tool[],
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<number> {
    const prompt = await this.#template.render(messages, tools, { most: this.contextSize, signal });
    return prompt?.tokens.length ?? Number.POSITIVE_INFINITY;
  }

  async *generate(
    request: GenerationRequest | CompletionRequest,
    options: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    this.#slots.checkQueue(options.caller);
    const { maxTokens = Number.POSITIVE_INFINITY, logitBias } = request;
    const { signal } = options;
    const isRaw = "prompt" in request;
    const prompt = await this.#prompt(request, options);
    // An invalid logit_bias is refused before a slot is taken.
    const bias = logitBias && toTokenBias(logitBias, this.tokenizer.bytes);
    const scoresPrompt = isRaw && request.echo === true && request.topLogprobs !== undefined;
    using grammars = new DisposableStack();
    const generation = new Generation({
      model: this.#model,
      tokenBytes: this.tokenizer.bytes,
      prompt,
      request,
      toolUse: isRaw ? undefined : request.toolUse,
      shape: isRaw ? freeText : await this.#shape(request, prompt.calls, grammars, options),
      maxTokens: Math.min(maxTokens, this.contextSize - prompt.tokens.length),
      scoresPrompt,
    });
    // A seed promises the same answer each time, so the prompt is evaluated without the prefix cache.
    const fresh = request.seed !== undefined;
    const scope = options.prefixScope;
    const wanted = { prompt: prompt.tokens, fresh, isScored: scoresPrompt, scope };
    using slot = await this.#slots.acquire(wanted, options);
    options.onStart?.(prompt.tokens.length);
    const sampler = this.#sampler(slot, request, bias);
    const scorer = scoresPrompt ? this.#scorer(slot) : undefined;
    const started = { ...wanted, slot, generation, sampler, scorer };
    yield* readAnswer(this.#scheduler, started, signal);
  }

  async close(): Promise<void> {
    await this.#scheduler.close(new NodeError("unavailable", "The model is being unloaded."));
    for (const sampler of [...this.#samplers, ...this.#scorers.values()]) sampler.dispose();
    this.#direct?.[Symbol.dispose]();
  }

  /** The prompt; throws if the context has no room for an answer after it. */
  async #prompt(
    request: GenerationRequest | CompletionRequest,
    { signal, caller }: CallOptions,
  ): Promise<Prompt> {
    const { contextSize } = this;
    const bounds = { most: contextSize, signal, caller };
    const isRaw = "prompt" in request;
    const prompt = await (isRaw
      ? renderRaw(this.tokenizer, request, bounds)
      : this.#template.render(request.messages, request.toolUse?.tools, bounds));
    const tokens = prompt?.tokens.length ?? "more";
    if (prompt !== undefined && prompt.tokens.length < contextSize) return prompt;
    throw promptTooLong(tokens, contextSize, isRaw ? "prompt" : "messages");
  }

  #sampler(slot: Slot, request: GenerationSettings, bias: TokenBias | undefined): AnswerSampler {
    const native = this.#samplers[slot.sequence.id];
    if (native === undefined) throw new NodeError("internal", "The sequence has no sampler.");
    return new AnswerSampler(native, { request, contextSize: this.contextSize, bias });
  }

  /** Does not change the model's logits; created per sequence on first use. */
  #scorer({ sequence }: Slot): NativeSampler {
    const scorer = this.#scorers.get(sequence.id) ?? this.#native.makeSampler();
    this.#scorers.set(sequence.id, scorer);
    scorer.configure({ temperature: 0, seed: 0 });
    return scorer;
  }

  /** The grammars that constrain the answer; a schema that cannot become one is refused here. */
  async #shape(
    { format = "text", toolUse }: GenerationRequest,
    { syntax, parallel }: CallStyle,
    grammars: DisposableStack,
    options: CallOptions,
  ): Promise<AnswerShape> {
    const compile = (shape: Shape) => () => startGrammar(this.#model, shape, this.#direct);
    const start = async (shape: Shape): ReturnType<typeof startGrammar> =>
      grammars.use(await this.#compileTurns.run(compile(shape), options));
    if (toolUse === undefined) {
      return {
        ...freeText,
        text: format === "text" ? undefined : await start({ format }),
      };
    }
    const { choice, tools } = toolUse;
    const only = typeof choice === "object" ? choice.name : undefined;
    const several = parallel && toolUse.parallel && only === undefined;
    const calls = { tools, only, syntax, parallel: several, withPrefix: false };
    return {
      // Unconstrained text may begin a tool call anyway; under a grammar a call must be an alternative.
      text:
        format === "text"
          ? undefined
          : await start({ format, calls: { ...calls, withPrefix: true } }),
      calls: await start({ calls }),
    };
  }
}

const freeText: AnswerShape = { text: undefined, calls: undefined };
