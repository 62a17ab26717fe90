/** The configuration of a running node: read again when that is asked for, and taken over as far as a running node can. */
import { ConfigError } from "../../config/config-error.ts";
import { planReload } from "../../config/reload.ts";
import type { Config } from "../../config/schema.ts";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { ReloadOutcome } from "../../node/running-node.ts";

export interface RunningConfigOptions {
  /** What the node was started with. */
  config: Config;
  read: () => Promise<Config>;
  /** Runs with this one from now on. */
  apply: (config: Config) => void;
  log: Log;
}

export class RunningConfig {
  readonly #options: RunningConfigOptions;
  #current: Config;

  constructor(options: RunningConfigOptions) {
    this.#options = options;
    this.#current = options.config;
  }

  /** What the node runs with. */
  get current(): Config {
    return this.#current;
  }

  async reload(): Promise<ReloadOutcome> {
    const { read, apply, log } = this.#options;
    try {
      const { config, changed, needsRestart } = planReload(this.#current, await read());
      apply(config);
      this.#current = config;
      log.info("the configuration was read again", { changed });
      if (needsRestart.length > 0) {
        log.warn("some of what changed needs a restart", { keys: needsRestart });
      }
      return { changed, needsRestart };
    } catch (error) {
      const reason = reasonOf(error);
      log.error("the configuration was read again and is wrong; nothing was changed", {
        ...(error instanceof ConfigError ? { reason } : { error }),
      });
      return { changed: [], needsRestart: [], error: reason };
    }
  }
}
