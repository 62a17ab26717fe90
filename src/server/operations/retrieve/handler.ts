/** A question to the passages that match it. */
import type { RetrievalService } from "../../../core/retrieval/retrieval-service.ts";
import type { Answer, Handler } from "../../operation.ts";
import type { RetrieveRequest } from "./schema.ts";
import { toMethodText, toRetrievalRequest, toRetrieveResult } from "./wire.ts";

/** Says how the passages were found: a collection may not be able to do what the node is set to. */
const methodHeader = "x-paddock-retrieval";

/** Says that passages are still being stored. */
const noticeHeader = "x-paddock-notice";

export const findPassages: Handler<RetrieveRequest, { retrieval: RetrievalService }> = async (
  { body },
  context,
  { retrieval },
): Promise<Answer> => {
  const { signal, report } = context;
  const result = await retrieval.retrieve(toRetrievalRequest(body, context.authenticated), {
    signal,
    report,
  });
  context.headers[methodHeader] = toMethodText(result.method);
  if (retrieval.coming !== undefined) context.headers[noticeHeader] = retrieval.coming;
  context.loggedAnswer = () => ({ texts: result.points.map(({ source }) => source) });
  return { json: toRetrieveResult(result, body) };
};
