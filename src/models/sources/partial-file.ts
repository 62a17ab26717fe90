/** A file on its way: the bytes that came, with a note of what they are part of. */
import { open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { NodeError } from "../../core/errors.ts";

const Note = T.Object({
  total: T.Optional(T.Integer()),
  /** What the server called this version of the file. */
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

  /** What is there; nothing where nobody can say what it is part of. */
  async read(): Promise<{ bytes: number; note: PartNote }> {
    try {
      const note: unknown = JSON.parse(await readFile(this.#notePath, "utf8"));
      const { size } = await stat(this.path);
      if (Value.Check(Note, note)) return { bytes: size, note };
    } catch {
      // Nothing was begun, or it was left in a state that is worth nothing.
    }
    return { bytes: 0, note: {} };
  }

  /** Empties it, for a file of which the note is true. */
  async begin(note: PartNote): Promise<void> {
    // An old note must not outlive the bytes it was about.
    await rm(this.#notePath, { force: true });
    await writeFile(this.path, "");
    await writeFile(this.#notePath, JSON.stringify(note));
  }

  /** Gives the whole file its name. */
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

  /** Where something is wrong with the file: what came of it is not worth going on with. */
  async dropFor(problem: NodeError | undefined): Promise<void> {
    if (problem === undefined) return;
    await this.remove();
    throw problem;
  }

  get #notePath(): string {
    return `${this.path}.json`;
  }
}
