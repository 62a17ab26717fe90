/** Models that answer in the form they came in while a better one is made behind the requests. */
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ChatModel, LoadedModel } from "../core/models/model.ts";
import { ReplaceableChatEngine } from "../core/models/replaceable-chat-engine.ts";
import type { QuietTimes } from "./quiet-times.ts";

type LoadedChatModel = Extract<LoadedModel, { type: "chat" }>;

/** What the making of a better form goes by. */
export interface Improving {
  quiet: QuietTimes;
  signal: AbortSignal;
  /** Told how much of it is done, from 0 to 1. */
  onProgress: (model: string, done: number) => void;
}

/** What is done behind the requests for one model. */
interface Improvement {
  model: LoadedChatModel;
  engine: ReplaceableChatEngine;
  /** Makes the better form; loads it beside the one that answers, or gives undefined where that is left to the next start. */
  make: (improving: Improving) => Promise<LoadedModel | undefined>;
}

export interface ImproveOptions extends Improving {
  /** Called with a model whose requests go to the better form from now on. */
  onBetter: (model: LoadedModel) => void;
  /** Called with a model that nothing more is done for. */
  onEnd: (model: string) => void;
  log: Log;
}

export class BetterForms {
  readonly #improvements: Improvement[] = [];

  /** The model, so that another form can take its place later. */
  add(model: LoadedModel, make: Improvement["make"]): LoadedModel {
    if (model.type !== "chat") return model;
    const engine = new ReplaceableChatEngine(model.engine);
    this.#improvements.push({ model, engine, make });
    return { ...model, engine };
  }

  /** Makes one after the other, each while nobody asks; what fails stays as it is until the next start. */
  async improve({ onBetter, onEnd, log, ...improving }: ImproveOptions): Promise<void> {
    const { quiet, signal } = improving;
    for (const improvement of this.#improvements.splice(0)) {
      const { name } = improvement.model.card;
      try {
        await quiet.wait(signal);
        const better = await improvement.make(improving);
        if (better !== undefined) await takeOver(improvement, better, { onBetter, log });
      } catch (error) {
        if (signal.aborted) return;
        log.warn("a model goes on in the form it came in", {
          model: name,
          reason: reasonOf(error),
        });
      } finally {
        onEnd(name);
      }
    }
  }
}

async function takeOver(
  { model, engine }: Improvement,
  better: LoadedModel,
  { onBetter, log }: Pick<ImproveOptions, "onBetter" | "log">,
): Promise<void> {
  if (better.type !== "chat") throw new NodeError("internal", "Another type was loaded.");
  const ended = engine.replaceBy(better.engine);
  const next: ChatModel & { type: "chat" } = { ...better, engine };
  onBetter(next);
  log.info("a model answers in a better form from now on", { model: model.card.name });
  // What was begun before is ended there.
  await ended;
  await model[Symbol.asyncDispose]();
}
