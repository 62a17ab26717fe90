/** Where the bytes of uploaded files live. */

/** A file that has come whole, and is not saved yet: disposing of it removes it, unless it was saved. */
export interface IncomingFile extends AsyncDisposable {
  bytes: number;
  /** Of its content, in hexadecimal digits. */
  sha256: string;
  /** Its first bytes, enough to tell what it is. */
  head: Uint8Array;
  /** Stores it under an id; when it returns, it survives a crash. */
  save(id: string): Promise<void>;
}

export interface FileStore {
  /** Receives a file, piece by piece. `admit` hears of each piece before it is written, and may refuse it. */
  receive(
    pieces: AsyncIterable<Uint8Array>,
    admit: (bytes: number) => Promise<void>,
  ): Promise<IncomingFile>;
  /** The bytes of a saved file; undefined where there is none. */
  open(id: string): Promise<Blob | undefined>;
  /** One that is not there is no failure. */
  remove(id: string): Promise<void>;
  /** Names of what is stored, and of what was set aside; uploads that are still coming are neither. */
  names(): Promise<{ stored: string[]; orphaned: string[] }>;
  /** Puts a stored file where nobody reads it, and it stays whole. */
  setAside(name: string): Promise<void>;
  /** Undoes that. */
  takeBack(name: string): Promise<void>;
  /** Deletes what is left of uploads that never came whole. */
  removeUnfinished(): Promise<void>;
}
