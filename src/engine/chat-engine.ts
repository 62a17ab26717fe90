/** Chat on llama.cpp: one context whose sequences generate side by side. */
import type { LlamaContext, LlamaModel } from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  GenerationEvent,
  GenerationRequest,
  Tool,
} from "../core/ports/chat-engine.ts";
import { evaluatePrompt } from "./evaluate-prompt.ts";
import { type AnswerShape, Generation } from "./generation.ts";
import { Grammars } from "./grammars.ts";
import { NativeGarbage } from "./native-garbage.ts";
import type { CallStyle, PromptTemplate } from "./prompt.ts";
import { Slots } from "./slots.ts";
import { BiasMaker } from "./token-bias.ts";
import { TokenBytes } from "./token-bytes.ts";

export class LlamaChatEngine implements ChatEngine {
  readonly #model: LlamaModel;
  readonly #context: LlamaContext;
  readonly #template: PromptTemplate;
  readonly #slots: Slots;
  readonly #grammars: Grammars;
  readonly #biases: BiasMaker;
  readonly #tokenBytes: TokenBytes;
  readonly #garbage: NativeGarbage;

  constructor(
    model: LlamaModel,
    context: LlamaContext,
    template: PromptTemplate,
    options: { maxQueue: number },
  ) {
    this.#model = model;
    this.#context = context;
    this.#template = template;
    this.#slots = new Slots(context, options.maxQueue);
    this.#grammars = new Grammars(model.llama, model);
    this.#biases = new BiasMaker(model);
    this.#tokenBytes = new TokenBytes(model);
    this.#garbage = new NativeGarbage(model.fileInfo.metadata.tokenizer.ggml.tokens.length);
  }

  get contextSize(): number {
    return this.#context.contextSize;
  }

  async countTokens(messages: readonly ChatMessage[], tools?: readonly Tool[]): Promise<number> {
    return this.#template.render(messages, tools).tokens.length;
  }

  async *generate(
    request: GenerationRequest,
    options: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    this.#slots.admit(options.caller);
    const { messages, maxTokens = Number.POSITIVE_INFINITY, toolUse, logitBias } = request;
    const prompt = this.#template.render(messages, toolUse?.tools);
    const room = this.#room(prompt.tokens.length);
    const generation = new Generation({
      model: this.#model,
      tokenBytes: this.#tokenBytes,
      prompt,
      request,
      // What cannot be honoured is refused before a slot is taken.
      bias: logitBias === undefined ? undefined : this.#biases.make(logitBias),
      shape: await this.#shape(request, prompt.calls),
      maxTokens: Math.min(maxTokens, room),
    });
    const { signal } = options;
    // A seed promises the same answer each time, so nothing may depend on what ran before.
    const fresh = request.seed !== undefined;
    using slot = await this.#slots.take({ prompt: prompt.tokens, fresh }, options);
    options.onStart?.();
    const { rest, cached } = await evaluatePrompt(slot, prompt.tokens, signal);
    try {
      yield* generation.run(slot, rest, cached, signal);
    } finally {
      this.#garbage.add();
    }
  }

  /** The grammars that hold the answer; a schema that makes none is refused here. */
  async #shape(
    { format = "text", toolUse }: GenerationRequest,
    { syntax, parallel }: CallStyle,
  ): Promise<AnswerShape> {
    const shaped = format === "text" ? {} : { format };
    if (toolUse === undefined) {
      return {
        text: format === "text" ? undefined : await this.#grammars.start(shaped),
        calls: undefined,
      };
    }
    const { choice } = toolUse;
    const calls = {
      tools: toolUse.tools,
      only: typeof choice === "object" ? choice.name : undefined,
      syntax,
      parallel: parallel && toolUse.parallel && typeof choice !== "object",
    };
    return {
      // Free text may turn into a call by itself; a held one must be allowed to.
      text:
        format === "text"
          ? undefined
          : await this.#grammars.start({ format, calls: { ...calls, withPrefix: true } }),
      calls: await this.#grammars.start({ calls: { ...calls, withPrefix: false } }),
    };
  }

  /** How many tokens the context has room for after the prompt. */
  #room(promptTokens: number): number {
    const { contextSize } = this;
    if (promptTokens < contextSize) return contextSize - promptTokens;
    throw new NodeError(
      "context_length_exceeded",
      `The messages have ${promptTokens} tokens; with room for an answer, this model's context of ${contextSize} tokens holds at most ${contextSize - 1}. Shorten the messages.`,
      { param: "messages" },
    );
  }
}
