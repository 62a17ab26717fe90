/** Models that answer in the form they came in while a better one is made behind the requests. */
import { setTimeout as sleep } from "node:timers/promises";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ChatModel, LoadedModel } from "../core/models/model.ts";
import { ReplaceableChatEngine } from "../core/models/replaceable-chat-engine.ts";

type LoadedChatModel = Extract<LoadedModel, { type: "chat" }>;

/** What is done behind the requests for one model. */
interface Improvement {
  model: LoadedChatModel;
  engine: ReplaceableChatEngine;
  /** Makes the better form; loads it beside the one that answers, or gives undefined where that is left to the next start. */
  make: (signal: AbortSignal) => Promise<LoadedModel | undefined>;
}

export interface ImproveOptions {
  /** Whether a request is waiting or being answered. */
  isBusy: () => boolean;
  /** Called with a model whose requests go to the better form from now on. */
  onBetter: (model: LoadedModel) => void;
  signal: AbortSignal;
  log: Log;
}

const pollMs = 200;

export class BetterForms {
  readonly #improvements: Improvement[] = [];

  /** The model, so that another form can take its place later. */
  add(model: LoadedModel, make: Improvement["make"]): LoadedModel {
    if (model.type !== "chat") return model;
    const engine = new ReplaceableChatEngine(model.engine);
    this.#improvements.push({ model, engine, make });
    return { ...model, engine };
  }

  /** Makes one after the other, each begun while nobody asks; what fails stays as it is until the next start. */
  async improve({ isBusy, onBetter, signal, log }: ImproveOptions): Promise<void> {
    for (const improvement of this.#improvements.splice(0)) {
      const { name } = improvement.model.card;
      try {
        while (isBusy()) await sleep(pollMs, undefined, { signal });
        const better = await improvement.make(signal);
        if (better !== undefined) await takeOver(improvement, better, { onBetter, log });
      } catch (error) {
        if (signal.aborted) return;
        log.warn("a model goes on in the form it came in", {
          model: name,
          reason: reasonOf(error),
        });
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
