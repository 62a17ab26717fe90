/** The scored prompt that several answers begin with: the first has it scored, the others give the same back. */
import type { GenerationEvent } from "../ports/chat-engine.ts";

type Events = AsyncIterable<GenerationEvent>;

export class SharedEcho {
  readonly #echoed: GenerationEvent[] = [];
  readonly #complete = Promise.withResolvers<void>();

  constructor() {
    // Where it fails before another answer has begun, nobody awaits it.
    this.#complete.promise.catch(() => {});
  }

  /** The events of the first answer. */
  async *lead(events: Events): AsyncGenerator<GenerationEvent> {
    try {
      for await (const event of events) {
        if (event.type === "text" && event.echoed === true) this.#echoed.push(event);
        else this.#complete.resolve();
        yield event;
      }
    } catch (error) {
      this.#complete.reject(error);
      throw error;
    } finally {
      this.#complete.resolve();
    }
  }

  /**
   * Another answer, which begins when the prompt is scored: what was evaluated of it is in the prefix
   * cache then. Where the first failed, so does this one.
   */
  async *follow(start: () => Events, signal: AbortSignal): AsyncGenerator<GenerationEvent> {
    await this.#complete.promise;
    signal.throwIfAborted();
    yield* this.#echoed;
    yield* start();
  }
}
