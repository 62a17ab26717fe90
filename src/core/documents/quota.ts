/** Document quotas: limits for the whole node, and for each caller. */
import { byteSize } from "../byte-size.ts";
import { NodeError } from "../errors.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { DocumentCaller, DocumentQuota } from "./document-caller.ts";

export interface QuotaSettings {
  node: DocumentQuota;
  /** For each key without limits of its own. */
  caller: DocumentQuota;
}

export type FileUsage = Pick<DocumentQuota, "bytes" | "files">;

/** The fewest bytes that a file counts as: an empty one has a name and a record too. */
const leastFileBytes = 1024;

export class Quota {
  readonly #registry: DocumentRegistry;
  readonly #settings: QuotaSettings;
  /** Usage of uploads in progress, by caller: two at once must not both use what is left. */
  readonly #coming = new Map<string | undefined, FileUsage>();
  #planned = 0;
  /** Number of uploads that have ended: after each, stored usage is read again. */
  #ended = 0;

  constructor(registry: DocumentRegistry, settings: QuotaSettings) {
    this.#registry = registry;
    this.#settings = settings;
  }

  /** Reserves quota for an upload as its bytes arrive; disposing of it releases the quota. */
  async upload(
    caller: DocumentCaller,
  ): Promise<{ admit(bytes: number): Promise<void> } & Disposable> {
    let [received, charged, files] = [0, 0, 0];
    let stored = await this.#stored(caller);
    const hold = (wanted: FileUsage): void => {
      const { bytes, files: others } = this.#coming.get(caller.id) ?? none;
      const now = { bytes: bytes + wanted.bytes - charged, files: others + wanted.files - files };
      [charged, files] = [wanted.bytes, wanted.files];
      if (now.files === 0) this.#coming.delete(caller.id);
      else this.#coming.set(caller.id, now);
    };
    const release = (): void => {
      hold(none);
      this.#ended++;
    };
    const admit = async (bytes: number): Promise<void> => {
      received += bytes;
      hold({ bytes: Math.max(received, leastFileBytes), files: 1 });
      while (stored.at !== this.#ended) stored = await this.#stored(caller);
      const all = [...this.#coming.values()].reduce(plus, stored.node);
      const own = plus(stored.own, this.#coming.get(caller.id) ?? none);
      for (const what of ["bytes", "files"] as const) {
        this.#check(what, caller, { node: all[what], own: own[what] });
      }
    };
    try {
      await admit(0);
    } catch (error) {
      release();
      throw error;
    }
    return { admit, [Symbol.dispose]: release };
  }

  /** Reserves quota for the passages of a file that is being ingested; throws if too little is left. */
  ingest(caller: DocumentCaller): { plan(passages: number): Promise<void> } & Disposable {
    const registry = this.#registry;
    let held = 0;
    return {
      plan: async (passages) => {
        // A caller's own files are ingested one by one, so none of them is in `#planned`.
        const own = caller.id === undefined ? 0 : await registry.passagesOf(caller.id);
        const node = (await registry.passagesOf()) + this.#planned;
        this.#check("passages", caller, { node: node + passages, own: own + passages });
        held = passages;
        this.#planned += held;
      },
      [Symbol.dispose]: () => {
        this.#planned -= held;
      },
    };
  }

  async #stored({ id }: DocumentCaller): Promise<{ node: FileUsage; own: FileUsage; at: number }> {
    const registry = this.#registry;
    const at = this.#ended;
    const own = id === undefined ? none : await registry.fileUsage(leastFileBytes, id);
    return { node: await registry.fileUsage(leastFileBytes), own, at };
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
      throw exceeded(`This node holds ${inWords[what](node[what])} (documents.max_${what})`);
    }
  }
}

const none: FileUsage = { bytes: 0, files: 0 };

const plus = (one: FileUsage, other: FileUsage): FileUsage => ({
  bytes: one.bytes + other.bytes,
  files: one.files + other.files,
});

const inWords: Readonly<Record<keyof DocumentQuota, (count: number) => string>> = {
  bytes: (count) => `${byteSize(count)} of files`,
  files: (count) => `${count} files`,
  passages: (count) => `${count} passages of files`,
};

const exceeded = (what: string): NodeError =>
  new NodeError(
    "quota_exceeded",
    `${what}, and this would be more. Delete files that are not needed any more.`,
  );
