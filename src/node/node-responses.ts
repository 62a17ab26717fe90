/** Opens the stored responses of a data dir, and the services on them. */
import { join } from "node:path";
import { onAbort } from "../core/abort.ts";
import { BackgroundResponses } from "../core/responses/background-responses.ts";
import { ConversationService } from "../core/responses/conversation-service.ts";
import { ResponseService, tidyResponses } from "../core/responses/response-service.ts";
import type { TrustedClock } from "../core/trusted-clock.ts";
import { configuredKeyId } from "../server/middleware/authentication.ts";
import { DataDirLock } from "../store/data-dir-lock.ts";
import { responsesFile, SqliteResponses } from "../store/responses/sqlite-responses.ts";
import { dataDirOf, type StoreOptions } from "./node-settings.ts";

const responsesLock = "responses.lock";

const everyMs = 60_000;

export interface NodeResponseOptions extends StoreOptions {
  /** How long a response may take; 0: no limit. A reload may change it. */
  timeoutMs: () => number;
  clock: TrustedClock;
}

export class NodeResponses implements AsyncDisposable {
  readonly responses: ResponseService;
  readonly conversations: ConversationService;
  readonly #resources = new AsyncDisposableStack();
  readonly #run: (signal: AbortSignal) => Promise<void>;

  /** Reads and writes nothing until it is used. */
  constructor({ config, baseDir, log, timeoutMs, clock }: NodeResponseOptions) {
    const folder = dataDirOf(config, baseDir);
    const { responses: settings } = config;
    const store = this.#resources.use(
      new SqliteResponses({
        path: join(folder, responsesFile),
        log,
        keepForMs: settings.keep_for * 1000,
        maxBytes: settings.max_bytes,
        maxResponseBytes: settings.max_response_bytes,
        now: () => clock.expiryTime().getTime(),
        madeAt: () => clock.now().getTime(),
        formerOwners: Object.fromEntries(
          config.auth.api_keys.map((key, at) => [`configured ${at + 1}`, configuredKeyId(key)]),
        ),
      }),
    );
    const ownership = this.#resources.use(
      new DataDirLock(join(folder, responsesLock), "background responses"),
    );
    const background = this.#resources.use(
      new BackgroundResponses({
        ...{ store, ownership, timeoutMs, log },
        maxRunning: settings.max_background,
        maxQueue: settings.max_queue,
      }),
    );
    const isKeeping = settings.keep_for > 0;
    this.responses = new ResponseService({ store, background, isKeeping, log });
    this.conversations = new ConversationService({ store, isKeeping, log });
    const recover = (): Promise<void> => background.recover();
    this.#run = async (signal) => {
      // Before the models are unloaded, so that responses fail with a clear reason.
      using _ = onAbort(signal, () => void background[Symbol.asyncDispose]());
      await tidyResponses({ store, recover, everyMs, log }, signal);
    };
  }

  /** Deletes expired responses in the background until the signal aborts; then dispose of the result. */
  start(signal: AbortSignal): AsyncDisposable {
    const running = this.#run(signal);
    return { [Symbol.asyncDispose]: () => running };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
