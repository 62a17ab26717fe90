/** Document quotas: limits for the whole node, and for each caller. */
import { byteSize } from "../byte-size.ts";
import { NodeError } from "../errors.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import type { DocumentCaller, DocumentQuota } from "./document-caller.ts";

export interface QuotaSettings {
  node: DocumentQuota;
  caller: DocumentQuota;
}

export type FileUsage = Pick<DocumentQuota, "bytes" | "files">;

/** The fewest bytes that a file counts as: an empty one has a name and a record too. The registry's files were counted with it. */
export const leastFileBytes = 1024;

export class Quota {
  readonly #registry: DocumentRegistry;
  readonly #settings: QuotaSettings;
  /** Uploads in progress: two at once must not both use what is left. */
  readonly #uploads = new Set<{ owner: string | undefined; bytes: number }>();
  #planned = 0;
  /** Number of files whose planned passages are stored, or given up. */
  #released = 0;
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
    const upload = { owner: caller.id, bytes: leastFileBytes };
    let received = 0;
    let stored = await this.#stored(caller);
    const release = (): void => {
      this.#uploads.delete(upload);
      this.#ended++;
    };
    const admit = async (bytes: number): Promise<void> => {
      received += bytes;
      upload.bytes = Math.max(received, leastFileBytes);
      try {
        while (stored.at !== this.#ended) stored = await this.#stored(caller);
        const uploads = [...this.#uploads];
        const all = withUploads(stored.node, uploads);
        const ownUploads = uploads.filter(({ owner }) => owner === caller.id);
        const own = withUploads(stored.own, ownUploads);
        this.#check("bytes", caller, { node: all.bytes, own: own.bytes });
        this.#check("files", caller, { node: all.files, own: own.files });
      } catch (error) {
        // At once: what it leaves may be enough for the others.
        release();
        throw error;
      }
    };
    this.#uploads.add(upload);
    await admit(0);
    return { admit, [Symbol.dispose]: release };
  }

  /** Reserves quota for the passages of a file until it is disposed of, once they are recorded; throws if too little is left. */
  ingest(caller: DocumentCaller): { plan(passages: number): Promise<void> } & Disposable {
    const registry = this.#registry;
    let held = 0;
    return {
      plan: async (passages) => {
        // A caller's own files are ingested one by one, so none of them is in `#planned`.
        const own = caller.id === undefined ? 0 : await registry.passagesOf(caller.id);
        let released: number;
        let stored: number;
        // One that was released meanwhile is neither in what was read nor in `#planned`.
        do {
          released = this.#released;
          stored = await registry.passagesOf();
        } while (released !== this.#released);
        const node = stored + this.#planned;
        this.#check("passages", caller, { node: node + passages, own: own + passages });
        held = passages;
        this.#planned += held;
      },
      [Symbol.dispose]: () => {
        this.#planned -= held;
        this.#released++;
      },
    };
  }

  async #stored({ id }: DocumentCaller): Promise<{ node: FileUsage; own: FileUsage; at: number }> {
    const registry = this.#registry;
    const at = this.#ended;
    const own = id === undefined ? none : await registry.fileUsage(id);
    return { node: await registry.fileUsage(), own, at };
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

const withUploads = (stored: FileUsage, uploads: readonly { bytes: number }[]): FileUsage => ({
  bytes: uploads.reduce((sum, { bytes }) => sum + bytes, stored.bytes),
  files: stored.files + uploads.length,
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
