/** Documents in the order of how well they fit a query. */
import { given } from "../../../core/given.ts";
import type { RerankService } from "../../../core/reranking/rerank-service.ts";
import type { Handler } from "../../operation.ts";
import type { RerankRequest } from "./schema.ts";
import { toRerankRequest, toRerankResultJson } from "./wire.ts";

interface Needs {
  reranking: RerankService;
}

/** `repeats`: whether the answer has the documents where the request does not say. */
export const rerankDocuments =
  (repeats: boolean): Handler<RerankRequest, Needs> =>
  async ({ body }, context, { reranking }) => {
    const { id, signal, report } = context;
    const request = toRerankRequest(body);
    const { model, ranked, tokens } = await reranking.rank(request, { signal, report });
    context.loggedAnswer = () => ({ ranked, tokens });
    const documents = (body.return_documents ?? repeats) ? request.documents : undefined;
    const answer = { id: `rerank-${id}`, model, ranked, tokens, ...given({ documents }) };
    return { text: await toRerankResultJson(answer), contentType: "application/json" };
  };
