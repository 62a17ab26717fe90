/** What operations do with the models of the models folder: pull and remove them, and see what is there. */
export interface PullOptions {
  /** Called once it begins, with a state that changes as it goes on. */
  onBegin?: (state: Readonly<Pulling>) => void;
  signal: AbortSignal;
  /** The digest that the file must have. */
  sha256?: string;
}

export interface ModelLibrary {
  /** Looks at the folder again, if it changed: other programs put models there too. */
  refresh(): Promise<void>;
  /** Returns the model's name; undefined if the node does not serve it, since its configuration says so. */
  pull(source: string, options: PullOptions): Promise<string | undefined>;
  /** Ends the pull in progress; returns whether there was one. */
  cancelPull(): boolean;
  /** The pull in progress, of whichever caller. */
  pulling(): Pulling | undefined;
  /** The model that was pulled from this place on the hub; undefined if none was. */
  pulledFrom(source: `hf:${string}`): Promise<string | undefined>;
  /** Whether `remove` would do so. */
  mayRemove(name: string): boolean;
  /** Removes a model's files once its calls have ended; returns the freed bytes. Throws if they are not the node's to remove. */
  remove(name: string): Promise<number>;
  memory(): Promise<MachineMemory>;
}

export interface Pulling {
  source: string;
  /** What is done now, for a person. */
  label: string;
  /** Bytes; a total of 0 is not known. */
  completed: number;
  total: number;
}

/** Bytes. */
export interface MachineMemory {
  total: number;
  free: number;
  /** Most of all models together; absent: not bounded. */
  models?: number;
}
