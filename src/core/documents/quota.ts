/** How much documents may take: of the node together, and of each caller. */
import { byteSize } from "../byte-size.ts";
import { NodeError } from "../errors.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { DocumentCaller, DocumentQuota } from "./document-caller.ts";

export interface QuotaSettings {
  node: DocumentQuota;
  /** Of each key without bounds of its own. */
  caller: DocumentQuota;
}

export class Quota {
  readonly #registry: DocumentRegistry;
  readonly #settings: QuotaSettings;
  /** Bytes that have come and are in no file yet: two uploads at once must not both take what is left. */
  readonly #coming = new Map<string | undefined, number>();
  /** Counts the uploads that have ended: what is stored may be more since. */
  #ended = 0;

  constructor(registry: DocumentRegistry, settings: QuotaSettings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  /** A place for the bytes of an upload, which grows as they come; disposing of it gives it back. */
  upload(caller: DocumentCaller): { admit(bytes: number): void } & Disposable {
    let held = 0;
    let stored = this.#stored(caller);
    const grow = (bytes: number): void => {
      held += bytes;
      this.#coming.set(caller.id, (this.#coming.get(caller.id) ?? 0) + bytes);
    };
    return {
      admit: (bytes) => {
        grow(bytes);
        if (stored.at !== this.#ended) stored = this.#stored(caller);
        const all = [...this.#coming.values()].reduce((sum, coming) => sum + coming, 0);
        const own = stored.own + (this.#coming.get(caller.id) ?? 0);
        this.#check("bytes", caller, { node: stored.node + all, own });
      },
      [Symbol.dispose]: () => {
        grow(-held);
        if (this.#coming.get(caller.id) === 0) this.#coming.delete(caller.id);
        this.#ended++;
      },
    };
  }

  /** Refuses passages beyond what is left. */
  checkPassages(caller: DocumentCaller, more: number): void {
    const { storeFiles } = this.#registry;
    const own = caller.id === undefined ? 0 : storeFiles.passagesOf(caller.id);
    const node = storeFiles.passagesOf();
    this.#check("passages", caller, { node: node + more, own: own + more });
  }

  #stored({ id }: DocumentCaller): { node: number; own: number; at: number } {
    const { files } = this.#registry;
    const own = id === undefined ? 0 : files.bytesOf(id);
    return { node: files.bytesOf(), own, at: this.#ended };
  }

  #check(
    what: keyof DocumentQuota,
    { id, called, quota }: DocumentCaller,
    used: { node: number; own: number },
  ): void {
    const { node, caller } = this.#settings;
    const own = quota?.[what] ?? caller[what];
    if (id !== undefined && own > 0 && used.own > own) {
      throw exceeded(`${called} may have ${inWords[what](own)}`);
    }
    if (node[what] > 0 && used.node > node[what]) {
      throw exceeded(`This node keeps ${inWords[what](node[what])} (documents.max_${what})`);
    }
  }
}

const inWords: Readonly<Record<keyof DocumentQuota, (count: number) => string>> = {
  bytes: (count) => `${byteSize(count)} of files`,
  passages: (count) => `${count} passages of files`,
};

const exceeded = (what: string): NodeError =>
  new NodeError(
    "quota_exceeded",
    `${what}, and this would be more. Delete files that are not needed any more.`,
  );
