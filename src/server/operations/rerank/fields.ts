/** What becomes of fields that are not in the schema: accepted, refused, or ignored and named. */
import { unknownKeys } from "../../middleware/ignored-fields.ts";
import { refuse } from "../../wire/refuse.ts";
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

/** Refuses what cannot be honoured; returns the names of the fields that the node does not act on. */
export function ignoredFields(body: RerankRequest): string[] {
  for (const [name, value] of Object.entries(body)) {
    const why = value === null ? undefined : refused.get(name);
    if (why !== undefined) throw refuse(name, why);
    if (activations.includes(name) && value === false) {
      throw refuse(name, "cannot be false: scores are probabilities here");
    }
    if (name === "return_embeddings" && value === true) {
      throw refuse(name, "cannot be true: reranking makes no vectors here; ask /v1/embeddings");
    }
  }
  const known = [...Object.keys(RerankRequest.properties), ...activations, "return_embeddings"];
  return [
    ...unknownKeys(body, known).filter((name) => !harmless.has(name)),
    ...body.documents.flatMap((document, index) =>
      typeof document === "string"
        ? []
        : unknownKeys(document, ["text"]).map((name) => `documents[${index}].${name}`),
    ),
  ];
}
