/** Pulls models into the models folder, one at a time. */
import type { Config } from "../../config/schema.ts";
import { untilAborted } from "../../core/abort.ts";
import { asNodeError, NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Pulling, PullOptions } from "../../core/models/model-library.ts";
import type { Progress } from "../../core/progress.ts";
import { quoted } from "../../core/quoted.ts";
import { readPulledFacts } from "../../engine/machine/model-memory.ts";
import { modelsFolder, withoutKey } from "../../models/models-folder.ts";
import { hubFrom } from "../../models/sources/hub-reference.ts";
import { isNear } from "../../models/sources/redirects.ts";
import { resolveSource } from "../../models/sources/resolve.ts";
import { nameOf } from "../../models/starter-models.ts";
import { dataDirOf, type ModelOptions } from "../node-settings.ts";

export const folderOf = ({ config, baseDir }: Pick<ModelOptions, "config" | "baseDir">): string =>
  modelsFolder(dataDirOf(config, baseDir));

interface PullParts {
  options: ModelOptions;
  stopping: AbortSignal;
}

interface PullSteps<Result> {
  /** Settles once the folder may change. */
  ready: () => Promise<unknown>;
  /** Called with the file that came, a model. */
  arrived: (path: string) => Promise<Result>;
}

export class FolderPulls {
  readonly #parts: PullParts;
  #pull: { state: Pulling; stop: AbortController } | undefined;

  constructor(parts: PullParts) {
    this.#parts = parts;
  }

  /** Of the one in progress. */
  get state(): Pulling | undefined {
    return this.#pull?.state;
  }

  async pull<Result>(
    source: string,
    { onBegin, signal, sha256 }: PullOptions,
    { ready, arrived }: PullSteps<Result>,
  ): Promise<Result> {
    const { options, stopping } = this.#parts;
    await checkSource(source, options.config);
    if (this.#pull !== undefined) {
      const why = `${quoted(this.#pull.state.source)} is being pulled, and models are pulled one at a time. Try again when it is there.`;
      throw new NodeError("overloaded", why);
    }
    const stop = new AbortController();
    // An address may contain a key, and everyone with a key sees what is being pulled.
    const state = { source: withoutKey(source), label: "Looking for it", completed: 0, total: 0 };
    this.#pull = { state, stop };
    onBegin?.(state);
    const { baseDir, hub = hubFrom({}), registryOf, log } = options;
    const ended = AbortSignal.any([signal, stop.signal, stopping]);
    try {
      await untilAborted(ready(), ended);
      const path = await resolveSource(source, {
        ...{ baseDir, hub, folder: folderOf(options), renew: true },
        progress: progressOf(state),
        signal: ended,
        say: (line) => log.info(line),
        ...given({ sha256: sha256?.toLowerCase(), registryOf }),
      });
      const result = await arrived(path);
      await checkIsModel(path, source);
      return result;
    } catch (error) {
      if (!stop.signal.aborted) throw asNodeError(error);
      const why = "The pull was cancelled. Pulling it again goes on from here.";
      throw new NodeError("unavailable", why, { cause: error });
    } finally {
      this.#pull = undefined;
    }
  }

  /** Whether one was in progress. */
  cancel(): boolean {
    this.#pull?.stop.abort();
    return this.#pull !== undefined;
  }
}

async function checkSource(
  source: string,
  { models_folder: { pull_from: allowed } }: Config,
): Promise<void> {
  const asked = source.startsWith("https://") ? (URL.parse(source)?.href ?? "") : source;
  const isAllowed = allowed.some((start) => asked.startsWith(start));
  if (isAllowed && !(asked.startsWith("https://") && (await isNear(asked)))) return;
  const why = isAllowed
    ? "is an address in the node's own network, from which nothing is pulled over HTTP"
    : allowed.length === 0
      ? "cannot be pulled: this node pulls no models over HTTP ([models_folder] pull_from)"
      : `cannot be pulled: a source must begin with ${allowed.map((start) => `'${start}'`).join(" or ")} ([models_folder] pull_from)`;
  throw new NodeError("invalid_request", `${quoted(source)} ${why}.`, { param: "source" });
}

/** Throws for a file that is no model, or a part of one: what came is not what was asked for. */
async function checkIsModel(path: string, source: string): Promise<void> {
  try {
    await readPulledFacts(path);
  } catch (error) {
    const { kind, message } = asNodeError(error);
    const remedy = `It stays in the models folder until the model ${quoted(nameOf(source))} is deleted.`;
    throw new NodeError(kind, `${message} ${remedy}`, { cause: error });
  }
}

/** Notes the steps of a pull, for those who follow it. */
const progressOf = (state: Pulling): Progress => ({
  step(label, total, unit, from = 0) {
    const counts = unit === "bytes";
    Object.assign(state, { label, total: counts ? total : 0, completed: counts ? from : 0 });
    return {
      update: (done) => void (counts && Object.assign(state, { completed: done })),
      finish: () => {},
    };
  },
});
