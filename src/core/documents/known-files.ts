/** The uploads, as long as they are where the registry's files were stored: while their disk is away, nothing is stored in its place, and no deletion counts as done. */
import { NodeError } from "../errors.ts";
import type { FileRegistry } from "../ports/document-registry.ts";
import type { FileStore } from "../ports/file-store.ts";

const why =
  "The uploads are away: documents.sqlite knows files, and none of them is in the folder files/ of the data dir. Mount or move it back, or restore it from a backup; uploads that are lost for good can be deleted.";

/** How many of the newest and of the oldest files to look for: single ones may be lost. */
const samples = 10;

/** The store of files, which throws while it is away. */
export class KnownFiles implements FileStore {
  readonly #files: FileStore;
  readonly #registry: Pick<FileRegistry, "files">;
  /** The folder that was found to be the right one. */
  #known: string | undefined;

  constructor(files: FileStore, registry: Pick<FileRegistry, "files">) {
    this.#files = files;
    this.#registry = registry;
  }

  async receive(...asked: Parameters<FileStore["receive"]>): ReturnType<FileStore["receive"]> {
    await this.check();
    return await this.#files.receive(...asked);
  }

  async open(id: string): Promise<Blob | undefined> {
    const found = await this.#files.open(id);
    if (found === undefined) await this.check();
    return found;
  }

  /** Where its bytes are not there, only another file can tell that they would be. */
  async remove(id: string): Promise<boolean> {
    await this.check();
    return (await this.#files.remove(id)) || (await this.#isFound()) === true;
  }

  async names(): ReturnType<FileStore["names"]> {
    await this.check();
    return await this.#files.names();
  }

  place = () => this.#files.place();
  setAside = (name: string) => this.#files.setAside(name);
  takeBack = (name: string) => this.#files.takeBack(name);
  removeUnfinished = () => this.#files.removeUnfinished();

  /** Throws if they cannot be used now. */
  async check(): Promise<void> {
    const place = await this.#files.place();
    if (place !== undefined && place === this.#known) return;
    if ((await this.#isFound()) === false) throw new NodeError("unavailable", why);
    this.#known = place;
  }

  /** Whether a file of the registry is there; undefined if it knows none. Throws if none of them can be read. */
  async #isFound(): Promise<boolean | undefined> {
    let hasFiles = false;
    let unread: unknown;
    for (const order of ["desc", "asc"] as const) {
      const { items } = await this.#registry.files({ limit: samples, order }, {});
      for (const { id } of items) {
        hasFiles = true;
        try {
          if ((await this.#files.open(id)) !== undefined) return true;
        } catch (error) {
          unread ??= error;
        }
      }
    }
    if (unread !== undefined) throw unread;
    return hasFiles ? false : undefined;
  }
}
