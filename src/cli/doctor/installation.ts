/** What `paddock doctor` looks at: a node as it is installed and configured here. */
import type { Config } from "../../config/schema.ts";
import type { SecretOf } from "../../node/gateway/upstream-models.ts";
import type { Program } from "../../subprocess/program.ts";

export interface Installation {
  config: Config;
  /** What relative paths start from. */
  baseDir: string;
  dataDir: string;
  program: Program;
  /** The environment variables that hold keys of servers elsewhere. */
  secretOf: SecretOf;
}
