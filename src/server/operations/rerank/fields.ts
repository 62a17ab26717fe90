/** What becomes of fields that are not in the schema: accepted, refused, or ignored and named. */
import { under, unknownKeys } from "../../middleware/ignored-fields.ts";
import { refuseFields } from "../../wire/refused-fields.ts";
import { RerankRequest } from "./schema.ts";

/** Nothing about the answer depends on these; what is too long is read in parts in any case. */
const harmless = new Set(["user", "truncation"]);

/** An answer without these would be another answer than the one asked for. */
const refused = new Map([
  ["texts", "is the name that Text Embeddings Inference has for them; send 'documents'"],
  ["top_k", "is the name that others have for it; send 'top_n'"],
  ["rank_fields", "cannot be honoured: documents are texts here; join their fields yourself"],
]);

/** vLLM's names for whether scores are probabilities. */
const activations = ["use_activation", "activation", "softmax"];
const refusedIfFalse = new Map(
  activations.map((name) => [name, "cannot be false: scores are probabilities here"]),
);

const refusedIfTrue = new Map([
  ["return_embeddings", "cannot be true: reranking makes no vectors here; ask /v1/embeddings"],
]);

/** Refuses what cannot be honoured; returns the names of the fields that the node does not act on. */
export function ignoredFields(body: RerankRequest): string[] {
  refuseFields(body, refused);
  refuseFields(body, refusedIfFalse, { isAbsent: (value) => value !== false });
  refuseFields(body, refusedIfTrue, { isAbsent: (value) => value !== true });
  const known = [...Object.keys(RerankRequest.properties), ...activations, "return_embeddings"];
  return [
    ...unknownKeys(body, known).filter((name) => !harmless.has(name)),
    ...body.documents.flatMap((document, index) =>
      typeof document === "string"
        ? []
        : unknownKeys(document, ["text"]).map(under(`documents[${index}]`)),
    ),
  ];
}
