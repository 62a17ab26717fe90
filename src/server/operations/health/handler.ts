/** Whether the node can take a request now, and what is in the way. */
import type { ReadinessReport } from "../../../core/readiness.ts";
import type { Answer, Handler } from "../../operation.ts";
import { redactPaths } from "../../redact-paths.ts";
import type { Readiness } from "./schema.ts";

interface Needs {
  /** What keeps the node from taking a request now, and what is still coming. */
  checkReadiness: (who: { isStranger: boolean }) => Promise<ReadinessReport>;
}

export const tellReadiness: Handler<undefined, Needs> = async (
  _request,
  { isStranger },
  { checkReadiness },
): Promise<Answer> => {
  const { problems, notes, coming } = await checkReadiness({ isStranger });
  const reasons = [...problems, ...notes, ...coming].map(redactPaths);
  if (problems.length === 0) return { json: { status: "ready", reasons } satisfies Readiness };
  return { status: 503, json: { status: "not ready", reasons } satisfies Readiness };
};
