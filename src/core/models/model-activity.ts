/** Measures how busy models are: wraps engines to count and time their calls and tokens. */
import { given } from "../given.ts";
import type { ChatEngine, GenerationEvent, TokenUsage } from "../ports/chat-engine.ts";
import type { EmbeddingEngine } from "../ports/embedding-engine.ts";
import type { Reranker } from "../ports/reranker.ts";
import type { EngineCall } from "../ports/telemetry.ts";
import type { LoadedModel, ModelType } from "./model.ts";

export interface Call {
  /** The call left the queue; only the first `start` counts. */
  start(): void;
  end(): void;
}

export interface ModelBounds {
  name: string;
  /** How many calls run at the same time; absent: not known. */
  slots?: number;
  maxQueue?: number;
  /** Whether another machine computes it. */
  isUpstream?: boolean;
}

export class ModelActivity {
  readonly bounds: ModelBounds;
  waiting = 0;
  inUse = 0;

  constructor(bounds: ModelBounds) {
    this.bounds = bounds;
  }

  get problem(): string | undefined {
    const { name, slots = Number.POSITIVE_INFINITY, maxQueue } = this.bounds;
    if (maxQueue === undefined || this.inUse < slots || this.waiting < maxQueue) return undefined;
    return `The queue of the model '${name}' is full: ${this.waiting} waiting, ${this.inUse} being answered.`;
  }

  call(): Call {
    let state: "waiting" | "in use" | "ended" = "waiting";
    this.waiting++;
    return {
      start: () => {
        if (state !== "waiting") return;
        state = "in use";
        this.waiting--;
        this.inUse++;
      },
      end: () => {
        if (state === "waiting") this.waiting--;
        if (state === "in use") this.inUse--;
        state = "ended";
      },
    };
  }
}

/** The activity of all models, and measured versions of the models, which behave the same. */
export class ModelActivities {
  readonly #activities = new Map<string, ModelActivity>();

  constructor(models: readonly ModelBounds[]) {
    for (const bounds of models) this.add(bounds);
  }

  add(bounds: ModelBounds): void {
    this.#activities.set(bounds.name, new ModelActivity(bounds));
  }

  remove(name: string): void {
    this.#activities.delete(name);
  }

  all(): ModelActivity[] {
    return [...this.#activities.values()];
  }

  /** Whether this machine has requests to compute. */
  get isBusy(): boolean {
    return this.all().some(
      ({ bounds, waiting, inUse }) => bounds.isUpstream !== true && waiting + inUse > 0,
    );
  }

  problems(): string[] {
    return this.all().flatMap(({ problem }) => problem ?? []);
  }

  /** Wraps a model; one that is loaded again continues with the same counts. */
  measured(model: LoadedModel): LoadedModel {
    const activity = this.#activities.get(model.card.name);
    if (activity === undefined) return model;
    if (model.type === "chat") return { ...model, engine: measuredChat(model.engine, activity) };
    if (model.type === "reranker") {
      return { ...model, engine: measuredReranker(model.engine, activity) };
    }
    return { ...model, engine: measuredEmbedding(model.engine, activity) };
  }
}

export function measuredChat(engine: ChatEngine, activity: ModelActivity): ChatEngine {
  const model = activity.bounds.name;
  const tally = new TokenTally();
  return withMethods(engine, {
    async *generate(
      request,
      { report = () => {}, onStart, promptPlace: prompt, ...options },
    ): AsyncGenerator<GenerationEvent> {
      const call = activity.call();
      const calledAt = performance.now();
      let startedAt: number | undefined;
      let promptTokens: number | undefined;
      let firstTokenAt: number | undefined;
      let endedAt: number | undefined;
      let usage: TokenUsage | undefined;
      let counted = 0;
      const count = (tokens: number): void => {
        counted += tokens;
        const due = tally.add(tokens);
        if (due > 0) report({ type: "tokens", model, count: due });
      };
      const start = (tokens?: number): void => {
        promptTokens ??= tokens;
        if (startedAt !== undefined) return;
        startedAt = performance.now();
        call.start();
        report({ type: "started", model, modelType: "chat", waitedMs: startedAt - calledAt });
        onStart?.(tokens ?? 0);
      };
      try {
        for await (const event of engine.generate(request, { ...options, onStart: start })) {
          const isEcho = event.type === "text" && event.echoed === true;
          if (firstTokenAt === undefined && !isEcho) {
            // An engine that sends events has started, whether it called onStart or not.
            start();
            firstTokenAt = performance.now();
            report({ type: "first-token", model });
          }
          if (event.type === "finish") {
            endedAt = performance.now();
            usage = event.usage;
            promptTokens = usage.promptTokens;
            count(usage.completionTokens - counted);
          } else if (!isEcho) {
            count(1);
          }
          yield event;
        }
      } finally {
        call.end();
        report({
          type: "answered",
          model,
          calledAt,
          ...given({ prompt, startedAt, promptTokens, firstTokenAt }),
          endedAt: endedAt ?? performance.now(),
          generatedTokens: counted,
          ...given({ usage }),
        });
      }
    },
  });
}

export const measuredEmbedding = (
  engine: EmbeddingEngine,
  activity: ModelActivity,
): EmbeddingEngine =>
  withMethods(engine, {
    embed: (inputs, { report = () => {}, ...options }) =>
      measuredCall(activity, {
        ...options,
        report,
        modelType: "embedding",
        work: (onStart) => engine.embed(inputs, { ...options, onStart }),
        tokensOf: (result) => result.reduce((sum, { tokens }) => sum + tokens, 0),
        record: { type: "embedded", inputs: inputs.length },
      }),
  });

const measuredReranker = (engine: Reranker, activity: ModelActivity): Reranker =>
  withMethods(engine, {
    rank: (question, passages, { report = () => {}, ...options }) =>
      measuredCall(activity, {
        ...options,
        report,
        modelType: "reranker",
        work: (onStart) => engine.rank(question, passages, { ...options, onStart }),
        tokensOf: ({ tokens }) => tokens,
        record: { type: "reranked", passages: passages.length },
      }),
  });

/** The engine with some methods replaced; its properties may change while it is in use. */
const withMethods = <Engine extends object>(engine: Engine, methods: Partial<Engine>): Engine =>
  new Proxy(engine, {
    get(_, name) {
      const value: unknown = Reflect.get(name in methods ? methods : engine, name);
      return typeof value === "function" ? value.bind(engine) : value;
    },
  });

interface MeasuredCall<Result> extends Required<Omit<EngineCall, "caller">> {
  modelType: ModelType;
  onStart?: (tokens: number) => void;
  /** Calls `onStart` when it leaves the queue. */
  work: (onStart: (tokens: number) => void) => Promise<Result>;
  tokensOf: (result: Result) => number;
  record: { type: "embedded"; inputs: number } | { type: "reranked"; passages: number };
}

/** `from` and `to` of the reported work include the waiting time. */
async function measuredCall<Result>(
  activity: ModelActivity,
  { modelType, report, onStart, signal, work, tokensOf, record }: MeasuredCall<Result>,
): Promise<Result> {
  const model = activity.bounds.name;
  const call = activity.call();
  const from = performance.now();
  let started: number | undefined;
  const start = (tokens: number): void => {
    if (started !== undefined) return;
    started = tokens;
    call.start();
    report({ type: "started", model, modelType, waitedMs: performance.now() - from });
    onStart?.(tokens);
  };
  const end = (tokens: number): void => {
    call.end();
    report({ ...record, model, tokens, from, to: performance.now() });
  };
  try {
    const result = await work(start);
    end(tokensOf(result));
    return result;
  } catch (error) {
    // What had begun when the caller left is charged, as an answer's prompt is.
    if (signal.aborted && started !== undefined) end(started);
    throw error;
  } finally {
    call.end();
  }
}

/** Until an answer's end, each event counts as one token. If that was too many, later tokens are offset, so that the sum never falls. */
export class TokenTally {
  #debt = 0;

  /** Adds tokens, a negative number to correct; returns by how much the sum grows. */
  add(tokens: number): number {
    const due = tokens - this.#debt;
    this.#debt = Math.max(0, -due);
    return Math.max(0, due);
  }
}
