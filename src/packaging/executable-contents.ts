/** The files inside the executable; none from source. scripts/build.ts replaces this module. */

export interface PackedFile {
  /** Path relative to the folder it is unpacked to. */
  name: string;
  /** The path inside the executable. */
  path: string;
  bytes: number;
  sha256: string;
}

export interface ExecutableContents {
  commit: string;
  llamaRelease: string;
  /** Libraries, which must be unpacked to be loaded. */
  native: readonly PackedFile[];
  handbook: readonly Pick<PackedFile, "name" | "path">[];
  /** The licence notices; see notices.ts. */
  notices: Pick<PackedFile, "path">;
  /** The starter models, if it was built with them. */
  starter?: {
    /** The parts of the file, in order. */
    chat: readonly PackedFile[];
    embedding: PackedFile;
  };
}

/** Undefined: the program runs from source. */
export const executable: ExecutableContents | undefined = undefined;
