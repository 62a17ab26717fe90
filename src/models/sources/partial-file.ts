/** A partial download: the bytes so far, and a note of the file that they belong to. */
import { open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { NodeError } from "../../core/errors.ts";

const Note = T.Object({
  total: T.Optional(T.Integer()),
  /** The server's ETag of this version of the file. */
  etag: T.Optional(T.String()),
  /** The sha256 that the whole file must have. */
  digest: T.Optional(T.String()),
});

export interface PartNote {
  total?: number;
  etag?: string;
  digest?: string;
}

export class PartialFile {
  readonly path: string;
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
    this.path = `${target}.part`;
  }

  /** What there is to resume; nothing where the note is missing. */
  async read(): Promise<{ bytes: number; note: PartNote }> {
    try {
      const note: unknown = JSON.parse(await readFile(this.#notePath, "utf8"));
      const { size } = await stat(this.path);
      if (Value.Check(Note, note)) return { bytes: size, note };
    } catch {
      // Nothing was begun, or the process ended before the note was written.
    }
    return { bytes: 0, note: {} };
  }

  /** Begins a new download. */
  async begin(note: PartNote): Promise<void> {
    // First, so that an old note never describes new bytes.
    await rm(this.#notePath, { force: true });
    await writeFile(this.path, "");
    await writeFile(this.#notePath, JSON.stringify(note));
  }

  /** Flushes the complete file and gives it its name. */
  async finish(): Promise<void> {
    {
      await using file = await open(this.path, "r+");
      await file.sync();
    }
    await rename(this.path, this.#target);
    await rm(this.#notePath, { force: true });
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    await rm(this.#notePath, { force: true });
  }

  /** Removes the download and throws, where there is a problem that a resume could not mend. */
  async dropFor(problem: NodeError | undefined): Promise<void> {
    if (problem === undefined) return;
    await this.remove();
    throw problem;
  }

  get #notePath(): string {
    return `${this.path}.json`;
  }
}
