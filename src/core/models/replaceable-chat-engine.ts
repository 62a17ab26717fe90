/** A chat engine that another one can take the place of, without a call being dropped. */
import type {
  CallOptions,
  ChatEngine,
  GenerationEvent,
  GenerationRequest,
} from "../ports/chat-engine.ts";

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
    request: GenerationRequest,
    options: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    using target = this.#use();
    yield* target.engine.generate(request, options);
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
