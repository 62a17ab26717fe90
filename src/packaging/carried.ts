/**
 * What the executable carries inside. In the repository that is nothing: everything is a file of its
 * own. scripts/build.ts puts another module in this one's place.
 */

export interface CarriedFile {
  /** Path under the folder that it is written to. */
  name: string;
  /** The path inside the executable. */
  path: string;
  bytes: number;
  sha256: string;
}

export interface Carried {
  /** The commit that it was built from. */
  commit: string;
  /** The release of llama.cpp inside. */
  llamaRelease: string;
  /** Libraries that must be files to be loaded. */
  native: readonly CarriedFile[];
  /** The pages of the handbook. */
  handbook: readonly Pick<CarriedFile, "name" | "path">[];
  /** The licence notices; see packed-notices.ts. */
  notices: Pick<CarriedFile, "path">;
  /** The starter models, where it was built with them. */
  starter?: {
    /** The parts of the file, in order. */
    chat: readonly CarriedFile[];
    embedding: CarriedFile;
  };
}

export const carried: Carried | undefined = undefined;
