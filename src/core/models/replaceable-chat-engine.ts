/** A chat engine that another one can take the place of, without a call being dropped. */
import { NodeError } from "../errors.ts";
import type {
  CallOptions,
  ChatEngine,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
} from "../ports/chat-engine.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";

/** An engine, and the calls that it answers. */
interface Target {
  engine: ChatEngine;
  calls: number;
  /** Called when the last of its calls has ended. */
  onIdle: () => void;
}

export class ReplaceableChatEngine implements ChatEngine {
  #target: Target;

  constructor(engine: ChatEngine) {
    this.#target = { engine, calls: 0, onIdle: () => {} };
  }

  get contextSize(): number {
    return this.#target.engine.contextSize;
  }

  get tokenizer(): Tokenizer | undefined {
    if (this.#target.engine.tokenizer === undefined) return undefined;
    return {
      tokenize: (...asked) => this.#withTokenizer((tokenizer) => tokenizer.tokenize(...asked)),
      detokenize: (...asked) => this.#withTokenizer((tokenizer) => tokenizer.detokenize(...asked)),
    };
  }

  /** Gives every call from now on to another engine; settles when the one before has ended its own. */
  async replaceBy(engine: ChatEngine): Promise<void> {
    const before = this.#target;
    this.#target = { engine, calls: 0, onIdle: () => {} };
    if (before.calls === 0) return;
    await new Promise<void>((resolve) => {
      before.onIdle = resolve;
    });
  }

  async countTokens(...asked: Parameters<ChatEngine["countTokens"]>): Promise<number> {
    using target = this.#use();
    return await target.engine.countTokens(...asked);
  }

  async *generate(
    request: GenerationRequest | CompletionRequest,
    options: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    using target = this.#use();
    yield* target.engine.generate(request, options);
  }

  async #withTokenizer<Result>(work: (tokenizer: Tokenizer) => Promise<Result>): Promise<Result> {
    using target = this.#use();
    const { tokenizer } = target.engine;
    if (tokenizer === undefined) throw new NodeError("internal", "The vocabulary is gone.");
    return await work(tokenizer);
  }

  #use(): { engine: ChatEngine } & Disposable {
    const target = this.#target;
    target.calls++;
    return {
      engine: target.engine,
      [Symbol.dispose]: () => {
        target.calls--;
        if (target.calls === 0) target.onIdle();
      },
    };
  }
}
