/** Input and result types of the checks of `paddock doctor`. */
import type { Config } from "../../config/schema.ts";
import type { SecretOf } from "../../node/gateway/upstream-models.ts";
import type { Program } from "../../subprocess/program.ts";

export interface Finding {
  /** What was looked at: `model tiny-chat`. Default: the name of the check. */
  check?: string;
  /** `note`: works, but may surprise. `problem`: must be fixed. */
  status: "ok" | "note" | "problem";
  message: string;
  remedy?: string;
}

const finding =
  (status: Finding["status"]) =>
  (message: string, remedy: string): Finding => ({ status, message, remedy });

export const ok = (message: string): Finding => ({ status: "ok", message });
export const note = finding("note");
export const problem = finding("problem");

/** A node as it is installed and configured here. */
export interface Installation {
  config: Config;
  baseDir: string;
  dataDir: string;
  program: Program;
  secretOf: SecretOf;
}
