/** Whether the node can take a request now, and what is in the way. */
import type { Answer, Handler } from "../../operation.ts";
import { redactPaths } from "../../redact-paths.ts";
import type { Readiness } from "./schema.ts";

interface Needs {
  /** What keeps the node from taking a request now. */
  checkReadiness: (who: { isStranger: boolean }) => Promise<string[]>;
}

export const tellReadiness: Handler<undefined, Needs> = async (
  _request,
  { isStranger },
  { checkReadiness },
): Promise<Answer> => {
  const problems = await checkReadiness({ isStranger });
  const reasons = problems.map(redactPaths);
  if (reasons.length === 0) return { json: { status: "ready", reasons } satisfies Readiness };
  return { status: 503, json: { status: "not ready", reasons } satisfies Readiness };
};
