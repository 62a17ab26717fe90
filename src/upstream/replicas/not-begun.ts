/** A request that a replica did not begin to answer: another may be asked. */
import type { NodeError } from "../../core/errors.ts";

export class NotBegun extends Error {
  override readonly name = "NotBegun";

  /** `reason`: what the caller is told where no other replica answers. */
  constructor(readonly reason: NodeError) {
    super(reason.message, { cause: reason });
  }
}
