/** The error for a schema that a grammar cannot hold. */
import { NodeError } from "../../core/errors.ts";

export class Unholdable extends NodeError {
  /** Where in the schema; behind a reference the first step is the reference. Empty: the whole of it. */
  readonly path: readonly string[];

  constructor(message: string, path: readonly string[], param: string) {
    super("invalid_request", message, { param });
    this.path = path;
  }
}
