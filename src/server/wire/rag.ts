/** What a request says of grounding, as the domain has it; apart from its schema, whose types the page reads. */
import type { RagRequest } from "../../core/chat/grounding.ts";
import type { Scope } from "../../core/limits/api-key.ts";
import { toFilter } from "./filter.ts";
import type { RagField } from "./rag-schema.ts";
import { withoutNulls } from "./without-nulls.ts";

/** A caller that asks for passages needs the scope for them. */
export const scopesOfRag = (rag: RagField): readonly Scope[] =>
  rag === undefined || rag === null || rag === false ? [] : ["retrieve"];

export function toRag(rag: RagField): RagRequest | undefined {
  if (rag === null || rag === undefined) return undefined;
  if (rag === true) return { bounds: {} };
  if (rag === false) return { policy: "off", bounds: {} };
  if (rag === "auto") return { auto: true, bounds: {} };
  return {
    ...withoutNulls({
      policy: rag.policy,
      auto: rag.auto,
      contextWindow: rag.context_window,
      stores: rag.vector_store_ids,
      filter: rag.filters && toFilter(rag.filters, "rag.filters"),
    }),
    bounds: withoutNulls({ limit: rag.limit, scoreThreshold: rag.score_threshold }),
  };
}
