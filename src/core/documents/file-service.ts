/** Uploaded files: receives, lists, reads and deletes them. */
import { NodeError } from "../errors.ts";
import { given } from "../given.ts";
import type { Page, PageRequest } from "../page.ts";
import type { IncomingFile } from "../ports/file-store.ts";
import { Places } from "../turns.ts";
import { type DocumentCaller, mayFill, noSuch, visibilityOf } from "./document-caller.ts";
import type { DocumentParts } from "./documents.ts";
import type { Quota } from "./quota.ts";
import { type FileRecord, isAdopted, newId } from "./records.ts";

/** Detects a file's media type by its first bytes, and by its name if formats look alike. */
export type DetectType = (filename: string, head: Uint8Array) => string;

/** A complete upload; disposing of it deletes it, unless it was saved. */
export interface Upload extends AsyncDisposable {
  save(about: { purpose: string; expiresAfterSeconds?: number }): Promise<FileRecord>;
}

const longestName = 200;

export class FileService {
  readonly #parts: DocumentParts;
  readonly #quota: Quota;
  readonly #removePassages: (file: string) => Promise<void>;
  /** Lists of a caller in progress: one may go through a hundred thousand files. */
  readonly #lists = new Places(1);

  /** `removePassages`: deletes the passages of a file that is no longer in any vector store. */
  constructor(parts: DocumentParts, quota: Quota, removePassages: (file: string) => Promise<void>) {
    this.#parts = parts;
    this.#quota = quota;
    this.#removePassages = removePassages;
  }

  async receive(
    caller: DocumentCaller,
    { filename, bytes: pieces }: { filename: string; bytes: AsyncIterable<Uint8Array> },
  ): Promise<Upload> {
    this.#parts.ownership.check();
    if (caller.vectorStores?.every((store) => !mayFill(caller, store))) {
      const why = `${caller.called} may only read its vector stores, and uploads no files.`;
      throw new NodeError("forbidden", why);
    }
    const name = checkedName(filename);
    await using resources = new AsyncDisposableStack();
    const place = resources.use(await this.#quota.upload(caller));
    const incoming = resources.use(
      await this.#parts.files.receive(pieces, (bytes) => place.admit(bytes)),
    );
    const owned = resources.move();
    return {
      save: (about) => this.#save(caller, name, incoming, about),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }

  async list(
    caller: DocumentCaller,
    page: PageRequest,
    purpose?: string,
  ): Promise<Page<FileRecord>> {
    const visible = visibilityOf(caller);
    const list = () => this.#parts.registry.files(page, given({ purpose, visible }));
    return await this.#lists.run(caller.id ?? "", list);
  }

  async get(caller: DocumentCaller, id: string): Promise<FileRecord> {
    const [file] = await this.find(caller, [{ file: id, field: "file_id" }]);
    if (file === undefined) throw missing(id, "file_id");
    return file;
  }

  async find(
    caller: DocumentCaller,
    wanted: readonly { file: string; field: string }[],
  ): Promise<FileRecord[]> {
    const { registry, expiryTime } = this.#parts;
    const ids = wanted.map(({ file }) => file);
    const stored = await registry.findFiles(ids, visibilityOf(caller));
    // Until the next cleanup, those that have expired are still there.
    const at = expiryTime();
    const files = stored.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > at);
    const found = new Set(files.map(({ id }) => id));
    const lost = wanted.find(({ file }) => !found.has(file));
    if (lost !== undefined) throw missing(lost.file, lost.field);
    return files;
  }

  async content(caller: DocumentCaller, id: string): Promise<{ file: FileRecord; bytes: Blob }> {
    const file = await this.get(caller, id);
    const bytes = await this.#parts.files.open(id);
    if (bytes !== undefined) return { file, bytes };
    const why = `The content of the file '${id}' is not in the data dir any more. Upload it again.`;
    throw new NodeError("unavailable", why);
  }

  /** Once it returns, no answer uses the file any more. */
  async delete(caller: DocumentCaller, id: string): Promise<void> {
    const file = await this.get(caller, id);
    if (caller.vectorStores !== undefined && file.owner !== caller.id) {
      const why = `${caller.called} may delete the files that it uploaded. Remove '${id}' from the vector store instead.`;
      throw new NodeError("forbidden", why);
    }
    await this.remove(id);
  }

  async remove(id: string): Promise<void> {
    const { registry, files, ownership } = this.#parts;
    ownership.check();
    await registry.removeFile(id);
    try {
      // If the node crashes here, the bytes are deleted at the next start.
      const isGone = await files.remove(id).catch((cause: unknown) => {
        const remedy =
          cause instanceof NodeError
            ? cause.message
            : "Give the node's user the right to write to the data dir.";
        const why = `The file '${id}' is not listed any more, but its content cannot be deleted; the next start of the node tries again. ${remedy}`;
        throw new NodeError("unavailable", why, { cause });
      });
      if (isGone) await registry.removed({ collection: "", document: id });
    } finally {
      await this.#removePassages(id);
    }
  }

  async #save(
    { id: owner }: DocumentCaller,
    filename: string,
    incoming: IncomingFile,
    { purpose, expiresAfterSeconds }: { purpose: string; expiresAfterSeconds?: number },
  ): Promise<FileRecord> {
    const { registry, files, detectType, now } = this.#parts;
    const createdAt = now();
    const expiresAt =
      expiresAfterSeconds === undefined
        ? undefined
        : new Date(createdAt.getTime() + expiresAfterSeconds * 1000);
    const { bytes, sha256, head } = incoming;
    const id = newId("file-");
    const file: FileRecord = {
      ...{ id, filename, bytes, sha256, purpose, createdAt },
      type: detectType(filename, head),
      ...given({ owner, expiresAt }),
    };
    // In this order, a crash leaves bytes without a record, which the next start sets aside.
    await incoming.save(id);
    try {
      await registry.addFile(file);
    } catch (error) {
      // The original error counts; the next start sets aside what cannot be deleted now.
      await files.remove(id).catch(() => {});
      throw error;
    }
    return file;
  }
}

function missing(id: string, param: string): NodeError {
  if (!isAdopted(id)) return noSuch("file", id, param);
  return new NodeError(
    "no_such_object",
    `'${id}' is a document that was not uploaded: its passages are in its vector store, and its bytes are not on this node.`,
    { param },
  );
}

/** The last part of the path; refuses characters that would break a line or a path. */
function checkedName(filename: string): string {
  const name = filename.toWellFormed().normalize("NFC").split(/[/\\]/).at(-1)?.trim() ?? "";
  const isPrintable = !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name);
  if (name !== "" && name !== "." && name !== ".." && name.length <= longestName && isPrintable) {
    return name;
  }
  const why = `The file must have a name of 1 to ${longestName} characters, without control characters: it says what format the file is.`;
  throw new NodeError("invalid_request", why, { param: "file" });
}
