/** Port: storage of the bytes of uploaded files. */

/** A complete upload that is not saved yet; disposing of it deletes it, unless it was saved. */
export interface IncomingFile extends AsyncDisposable {
  bytes: number;
  sha256: string;
  head: Uint8Array;
  /** Saves it under an id; once it returns, the file survives a crash. */
  save(id: string): Promise<void>;
}

export interface FileStore {
  /** Tells one folder or disk from another in its place; undefined if there is none. */
  place(): Promise<string | undefined>;
  /** Receives a file, piece by piece. `admit` is called before each piece is written, and may throw. */
  receive(
    pieces: AsyncIterable<Uint8Array>,
    admit: (bytes: number) => Promise<void>,
  ): Promise<IncomingFile>;
  /** The bytes of a saved file, also of one that was set aside; undefined if there is none. */
  open(id: string): Promise<Blob | undefined>;
  /** Deletes its bytes wherever they are; returns whether they are gone for good, and not away with their disk. */
  remove(id: string): Promise<boolean>;
  /** Names of stored files, and of those set aside; without uploads in progress. */
  names(): Promise<{ stored: string[]; orphaned: string[] }>;
  /** Moves a stored file aside, unchanged. */
  setAside(name: string): Promise<void>;
  takeBack(name: string): Promise<void>;
  /** Deletes the remains of uploads that were never completed. */
  removeUnfinished(): Promise<void>;
}
