/** Deletes the passages of what was removed; what cannot be deleted now is deleted later, and found by nobody. */
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DocumentRegistry, Removal } from "../ports/document-registry.ts";
import type { OpenCollections } from "./open-collections.ts";

export interface RemoverParts {
  registry: DocumentRegistry;
  collections: OpenCollections;
  log: Log;
}

export class PassageRemover {
  readonly #parts: RemoverParts;
  /** Deletions on their way, so that what is added again meanwhile is not deleted with it. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(parts: RemoverParts) {
    this.#parts = parts;
  }

  /** Deletes what is noted as removed; returns when it is done, or known that it has to wait. */
  async removeAll(wanted: (removal: Removal) => boolean = () => true): Promise<boolean> {
    let isDone = true;
    for (const removal of await this.#parts.registry.queue.removals()) {
      if (wanted(removal) && !(await this.tryRemove(removal))) isDone = false;
    }
    return isDone;
  }

  /** Says whether it is gone; if not, it is tried again. */
  async tryRemove(removal: Removal): Promise<boolean> {
    try {
      await this.remove(removal);
      return true;
    } catch (error) {
      const { collection, document } = removal;
      this.#parts.log.warn("passages cannot be deleted now; they are left out of answers", {
        ...{ collection, document },
        reason: reasonOf(error),
      });
      if (error instanceof NodeError) return false;
      throw error;
    }
  }

  async remove(removal: Removal): Promise<void> {
    const key = `${removal.collection}/${removal.document ?? ""}`;
    const running = this.#running.get(key) ?? this.#remove(removal);
    this.#running.set(key, running);
    try {
      await running;
    } finally {
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }

  async #remove(removal: Removal): Promise<void> {
    const { registry, collections } = this.#parts;
    const { collection, document } = removal;
    if (document === undefined) await collections.drop(collection, { forGood: true });
    else {
      using lease = await collections.lease(collection);
      await lease?.repository.delete(document);
    }
    await registry.queue.removed(removal);
  }
}
