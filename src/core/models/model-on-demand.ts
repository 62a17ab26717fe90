/** A model that its first call loads; until then, the node knows what the model's file says of it. */
import { untilAborted } from "../abort.ts";
import { asNodeError, copyOf, NodeError } from "../errors.ts";
import { FairQueue } from "../limits/fair-queue.ts";
import type { ChatEngine, GenerationEvent } from "../ports/chat-engine.ts";
import type { EmbeddingEngine } from "../ports/embedding-engine.ts";
import type { Reranker } from "../ports/reranker.ts";
import type { EngineCall } from "../ports/telemetry.ts";
import type { Tokenizer } from "../ports/tokenizer.ts";
import type { LoadedModel, ModelCard, Residence } from "./model.ts";

/** What is known of a model before it is loaded, the same as afterwards. */
export type KnownModel = { card: ModelCard; fingerprint: string } & (
  | ({ type: "chat" } & Pick<ChatEngine, "contextSize">)
  | ({ type: "embedding" } & Pick<EmbeddingEngine, "dimension" | "maxTokens" | "vocabularySize">)
  | ({ type: "reranker" } & Pick<Reranker, "maxTokens">)
);

export interface OnDemandOptions {
  known: KnownModel;
  /** Calls that may wait for the first load; afterwards the model's own queue counts. */
  mostWaiting: number;
  /** Called again after a failure, at the next call. */
  load: () => Promise<LoadedModel>;
  /** Called once with the same model, described as it was loaded. */
  onLoaded: (model: LoadedModel) => void;
}

export function modelOnDemand({
  known,
  load,
  mostWaiting,
  onLoaded,
}: OnDemandOptions): LoadedModel {
  const { card, fingerprint } = known;
  const first = new FirstLoad(card.name, mostWaiting, async () => {
    const loaded = await load();
    const { card } = loaded;
    const identity = loaded.type === "embedding" && { identity: loaded.identity };
    onLoaded(Object.assign(model, { card }, identity));
    return loaded;
  });
  const common = {
    ...{ card, fingerprint },
    residence: () => first.residence(),
    load: (signal: AbortSignal) => first.loadNow(signal),
    unload: (signal: AbortSignal) => first.unload(signal),
    [Symbol.asyncDispose]: () => first.dispose(),
  };
  const model = { ...common, ...enginesOf(known, first) };
  return model;
}

/** Each method waits for the model, and goes on with its engine. */
function enginesOf(known: KnownModel, first: FirstLoad) {
  const { name } = known.card;
  const tokenizerOf = async (signal: AbortSignal): Promise<Tokenizer> => {
    const { engine } = await first.ready({ signal });
    if ("tokenizer" in engine && engine.tokenizer !== undefined) return engine.tokenizer;
    throw new NodeError("internal", `The model '${name}' has no tokenizer.`);
  };
  const tokenizer: Tokenizer = {
    tokenize: async (input, options) =>
      (await tokenizerOf(options.signal)).tokenize(input, options),
    detokenize: async (tokens, options) =>
      (await tokenizerOf(options.signal)).detokenize(tokens, options),
  };
  const wrong = new NodeError("internal", `The model '${name}' is not of type '${known.type}'.`);
  if (known.type === "chat") {
    const { type, contextSize } = known;
    const ready = async (asking?: Asking): Promise<ChatEngine> => {
      const model = await first.ready(asking);
      if (model.type === "chat") return model.engine;
      throw wrong;
    };
    const engine: ChatEngine = {
      ...{ contextSize, tokenizer },
      countTokens: async (messages, tools, options) =>
        (await ready(options)).countTokens(messages, tools, options),
      async *generate(request, options): AsyncGenerator<GenerationEvent> {
        yield* (await ready(options)).generate(request, options);
      },
    };
    return { type, engine } as const;
  }
  if (known.type === "embedding") {
    const { type, dimension, maxTokens, vocabularySize } = known;
    const ready = async (asking?: Asking): Promise<EmbeddingEngine> => {
      const model = await first.ready(asking);
      if (model.type === "embedding") return model.engine;
      throw wrong;
    };
    const engine: EmbeddingEngine = {
      ...{ dimension, maxTokens, vocabularySize, tokenizer },
      countTokens: async (inputs, options) => (await ready(options)).countTokens(inputs, options),
      embed: async (inputs, options) => (await ready(options)).embed(inputs, options),
    };
    // Only the model of the node's collection is asked for it, and that one is loaded at the start.
    const identity = { model: name, fingerprint: "", queryPrefix: "", documentPrefix: "" };
    return { type, engine, identity } as const;
  }
  const { type, maxTokens } = known;
  const engine: Reranker = {
    maxTokens,
    async rank(question, passages, options) {
      const model = await first.ready(options);
      if (model.type === "reranker") return await model.engine.rank(question, passages, options);
      throw wrong;
    },
  };
  return { type, engine } as const;
}

/** How long a failed load is not tried again: a file that is broken would be read for every request. */
const pauseMs = 5000;

type Asking = Partial<Pick<EngineCall, "signal" | "caller">>;

/** One load for all calls that wait for it. */
class FirstLoad {
  readonly #name: string;
  readonly #waiting: FairQueue<PromiseWithResolvers<never>>;
  readonly #load: () => Promise<LoadedModel>;
  #loading: Promise<LoadedModel> | undefined;
  #loaded: LoadedModel | undefined;
  #failure: { error: NodeError; at: number } | undefined;
  #isOver = false;

  constructor(name: string, mostWaiting: number, load: () => Promise<LoadedModel>) {
    this.#name = name;
    this.#waiting = new FairQueue(mostWaiting);
    this.#load = load;
  }

  residence(): Residence {
    const error = this.#failure?.error.message;
    const own = this.#loaded?.residence?.();
    if (own !== undefined) return own;
    if (this.#loaded !== undefined) return { state: "loaded" };
    if (this.#loading !== undefined) return { state: "loading" };
    return { state: "unloaded", ...(error === undefined ? {} : { error }) };
  }

  async loadNow(signal: AbortSignal): Promise<void> {
    await (await this.ready({ signal })).load?.(signal);
  }

  async unload(signal: AbortSignal): Promise<void> {
    const loading = this.#loading?.catch(() => undefined);
    const model = this.#loaded ?? (loading && (await untilAborted(loading, signal)));
    await model?.unload?.(signal);
  }

  async dispose(): Promise<void> {
    this.#isOver = true;
    const model = this.#loaded ?? (await this.#loading?.catch(() => undefined));
    await model?.[Symbol.asyncDispose]();
  }

  async ready({ signal, caller = "" }: Asking = {}): Promise<LoadedModel> {
    if (this.#isOver) {
      const why = `The model '${this.#name}' was removed.`;
      throw new NodeError("model_not_found", why, { param: "model" });
    }
    if (this.#loaded !== undefined) return this.#loaded;
    if (this.#failure !== undefined && performance.now() - this.#failure.at < pauseMs) {
      throw copyOf(this.#failure.error);
    }
    if (!this.#waiting.admits(caller)) throw this.#full();
    const place = Promise.withResolvers<never>();
    this.#waiting.join(caller, place)?.reject(this.#full());
    try {
      this.#loading ??= this.#begin();
      const loaded = this.#loading.catch((error: unknown) => {
        throw error instanceof NodeError ? copyOf(error) : error;
      });
      const own = Promise.race([loaded, place.promise]);
      return await (signal === undefined ? own : untilAborted(own, signal));
    } finally {
      this.#waiting.leave(caller, place);
    }
  }

  #full(): NodeError {
    return new NodeError(
      "overloaded",
      `The model '${this.#name}' is being loaded, and ${this.#waiting.size} requests wait for it already. Try again in a moment.`,
    );
  }

  async #begin(): Promise<LoadedModel> {
    try {
      this.#loaded = await this.#load();
      this.#failure = undefined;
      return this.#loaded;
    } catch (cause) {
      const { message, kind } = asNodeError(cause, `The model '${this.#name}' cannot be loaded`);
      const error = new NodeError(kind, message, { param: "model", retryAfterMs: pauseMs, cause });
      this.#failure = { error, at: performance.now() };
      throw error;
    } finally {
      this.#loading = undefined;
    }
  }
}
