/** `npm:PACKAGE@VERSION/FILE`: a file of a package in the npm registry. */
import { NodeError } from "../../../core/errors.ts";

export interface NpmReference {
  /** With its scope. */
  package: string;
  /** Exact: what a tag or a range stands for changes. */
  version: string;
  /** From the package's own folder. */
  file: string;
}

const part = "[A-Za-z0-9~_][\\w.~-]*";
const form = new RegExp(
  `^npm:((?:@${part}/)?${part})@(\\d+\\.\\d+\\.\\d+(?:[-+][\\w.+-]+)?)/([^\\x00-\\x1f\\\\]+)$`,
);

export function parseNpmReference(source: string): NpmReference {
  const [, name, version, file] = form.exec(source) ?? [];
  const isPath = file?.split("/").every((step) => step !== "" && step !== "." && step !== "..");
  if (name === undefined || version === undefined || file === undefined || isPath !== true) {
    throw new NodeError(
      "invalid_request",
      `'${source}' is no file of a package. Write npm:PACKAGE@VERSION/FILE with an exact version, such as npm:some-model@1.0.2/model.gguf.`,
    );
  }
  return { package: name, version, file };
}
