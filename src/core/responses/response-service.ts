/** Stored responses: each caller sees its own, and can cancel those in the background. */
import { pause } from "../abort.ts";
import type { DocumentCaller } from "../documents/document-caller.ts";
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import { isFinished, type ResponseStore, type SavedResponse } from "../ports/response-store.ts";
import { quoted } from "../quoted.ts";
import { type StoreState, watchStore } from "../readiness.ts";
import { Turns } from "../turns.ts";
import type { BackgroundRequest, BackgroundResponses } from "./background-responses.ts";
import { isConversationId } from "./conversation-service.ts";

export interface ResponseServiceOptions {
  store: ResponseStore;
  background: BackgroundResponses;
  isKeeping: boolean;
  /** How long the store may take to answer before it counts as hanging. Default: 5000. */
  patienceMs?: number;
  log: Log;
}

type Owner = Pick<DocumentCaller, "id">;

export class ResponseService {
  /** If false, `keep` does nothing, and `start` throws. */
  readonly isKeeping: boolean;
  readonly state: StoreState;
  readonly #options: ResponseServiceOptions;
  /** What is found is parsed next, and it may have megabytes. */
  readonly #reading = new Turns();

  constructor(options: ResponseServiceOptions) {
    this.isKeeping = options.isKeeping;
    this.#options = options;
    this.state = stateOf(options);
  }

  /** Whether it was stored. Never throws: the answer is returned even if the disk is full or the response is too large. */
  async keep(response: SavedResponse): Promise<boolean> {
    if (!this.isKeeping) return false;
    try {
      await this.#options.store.save(response);
      return true;
    } catch (error) {
      const fields = { id: response.id, reason: reasonOf(error) };
      this.#options.log.warn("a response is not stored", fields);
      return false;
    }
  }

  /** Undefined if there is none, it has expired, or it belongs to another caller. */
  async find(id: string, { id: owner }: Owner): Promise<SavedResponse | undefined> {
    if (!this.isKeeping || isConversationId(id)) return undefined;
    const found = await this.#options.store.find(id, owner);
    if (found !== undefined) await this.#reading.next(owner);
    return found;
  }

  async get(id: string, owner: Owner): Promise<SavedResponse> {
    const response = await this.find(id, owner);
    if (response === undefined) throw noSuchResponse(id);
    return response;
  }

  async delete(id: string, owner: Owner): Promise<void> {
    const isThere = !isConversationId(id) && (await this.#options.store.delete(id, owner.id));
    if (!isThere) throw noSuchResponse(id);
    this.#options.background.abort(id);
  }

  /** Cancels a background response; one that has ended stays as it is. */
  async cancel(id: string, owner: Owner): Promise<SavedResponse> {
    const response = await this.get(id, owner);
    if (!response.isBackground) {
      const why =
        "Cannot cancel a synchronous response: only one that was made with 'background': true can be cancelled.";
      throw new NodeError("invalid_request", why, { param: "response_id" });
    }
    if (isFinished(response.status)) return response;
    // Saved first, so that later changes by the run are ignored.
    await this.#options.store.change(id, { status: "cancelled" });
    this.#options.background.abort(id);
    return await this.get(id, owner);
  }

  async start(request: BackgroundRequest): Promise<{ ended: Promise<void> }> {
    if (!this.isKeeping) {
      const why =
        "'background' needs responses to be stored, and this node stores none (responses.keep_for = 0).";
      throw new NodeError("invalid_request", why, { param: "background" });
    }
    return await this.#options.background.start(request);
  }
}

const hanging =
  "The stored responses do not answer. Check the disk of the data dir, and that no other program keeps responses.sqlite locked.";

const stateOf = ({ store, patienceMs = 5000 }: ResponseServiceOptions) =>
  watchStore(() => store.check(), { late: hanging, patienceMs });

const noSuchResponse = (id: string): NodeError =>
  new NodeError("no_such_object", `Response with id ${quoted(id)} not found.`);

interface TidyingOptions {
  store: ResponseStore;
  recover: () => Promise<void>;
  everyMs: number;
  log: Log;
}

/** Deletes expired responses and fails those left unfinished, again and again, until the signal aborts. Never throws. */
export async function tidyResponses(options: TidyingOptions, signal: AbortSignal): Promise<void> {
  let saidWhy: string | undefined;
  while (!signal.aborted) {
    try {
      await options.recover();
      await tidyOnce(options, signal);
      saidWhy = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== saidWhy) options.log.warn("stored responses cannot be tidied", { reason });
      saidWhy = reason;
    }
    await pause(options.everyMs, signal);
  }
}

async function tidyOnce({ store, log }: TidyingOptions, signal: AbortSignal): Promise<void> {
  const sum = { expired: 0, displaced: 0 };
  for (let isDone = false; !isDone && !signal.aborted; ) {
    const step = await store.tidy();
    sum.expired += step.expired;
    sum.displaced += step.displaced;
    isDone = step.isDone;
  }
  const { expired, displaced } = sum;
  if (expired > 0) log.info("stored responses have expired, and are deleted", { count: expired });
  if (displaced > 0) {
    log.warn(
      "the oldest responses of who stores most are deleted: all are larger than responses.max_bytes",
      { count: displaced },
    );
  }
}
