/** Where benchmarks keep what takes long to make: models and the built llama-server. */
import { homedir } from "node:os";
import { join } from "node:path";

/** `$XDG_CACHE_HOME/paddock-bench`, or `~/.cache/paddock-bench`: it outlives a restart of the machine. */
export const cacheFolder = join(
  process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
  "paddock-bench",
);
