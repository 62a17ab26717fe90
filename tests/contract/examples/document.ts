/** What becomes of the fields of requests, by an example of each. */
import type { FieldExample } from "../../support/field-examples.ts";

/** By operation; `$file` and the like stand for ids. */
export const examples: Readonly<Record<string, readonly FieldExample[]>> = {
  "POST /v1/files": [
    ["file", "honoured", "# Notes"],
    ["purpose", "honoured", "assistants"],
    ["purpose", "rejected", "fine-tune"],
    ["expires_after", "honoured", { anchor: "created_at", seconds: 3600 }],
    ["expires_after", "rejected", { anchor: "created_at", seconds: 60 }],
    ["colour", "ignored", "red"],
  ],
  "GET /v1/files": [
    ["limit", "honoured", 5],
    ["order", "honoured", "asc"],
    ["after", "honoured", "$file"],
    ["before", "honoured", "$file"],
    ["purpose", "honoured", "user_data"],
    ["sort", "ignored", "name"],
  ],
  "POST /v1/vector_stores": [
    ["name", "honoured", "Notes"],
    ["description", "honoured", "What I wrote"],
    ["file_ids", "honoured", ["$file"]],
    ["chunking_strategy", "honoured", { type: "auto" }],
    [
      "chunking_strategy",
      "rejected",
      { type: "static", static: { max_chunk_size_tokens: 50, chunk_overlap_tokens: 0 } },
    ],
    ["expires_after", "honoured", { anchor: "last_active_at", days: 7 }],
    ["metadata", "honoured", { team: "support" }],
    ["colour", "ignored", "red"],
    ["expires_after.hours", "ignored", 5],
  ],
  "POST /v1/vector_stores/{vector_store_id}": [
    ["name", "honoured", "Other notes"],
    ["expires_after", "honoured", { anchor: "last_active_at", days: 1 }],
    ["metadata", "honoured", { team: "sales" }],
    ["metadata", "rejected", { team: 5 }],
    ["file_ids", "ignored", ["$file"]],
  ],
  "GET /v1/vector_stores": [
    ["limit", "honoured", 1],
    ["order", "honoured", "asc"],
    ["after", "honoured", "$store"],
    ["before", "honoured", "$store"],
  ],
  "POST /v1/vector_stores/{vector_store_id}/search": [
    ["query", "honoured", "llamas"],
    ["query", "honoured", ["llamas", "bees"]],
    ["filters", "honoured", { type: "eq", key: "language", value: "de" }],
    ["filters", "rejected", { type: "like", key: "language", value: "d%" }],
    ["max_num_results", "honoured", 1],
    ["max_num_results", "rejected", 51],
    ["ranking_options", "honoured", { ranker: "none", score_threshold: 0.99 }],
    ["ranking_options.hybrid_search", "ignored", { embedding_weight: 1 }],
    ["rewrite_query", "accepted", false],
    ["rewrite_query", "rejected", true],
  ],
  "POST /v1/vector_stores/{vector_store_id}/files": [
    ["file_id", "honoured", "$file"],
    ["attributes", "honoured", { language: "de", year: 2026, draft: false }],
    ["attributes", "rejected", { tags: ["a"] }],
    ["chunking_strategy", "honoured", { type: "auto" }],
    ["chunking_strategy", "rejected", { type: "semantic" }],
  ],
  "GET /v1/vector_stores/{vector_store_id}/files": [
    ["limit", "honoured", 1],
    ["order", "honoured", "asc"],
    ["after", "honoured", "$member"],
    ["before", "honoured", "$member"],
    ["filter", "honoured", "failed"],
    ["filter", "rejected", "done"],
  ],
  "POST /v1/vector_stores/{vector_store_id}/files/{file_id}": [
    ["attributes", "honoured", { language: "fr" }],
    ["attributes", "rejected", { language: { code: "fr" } }],
  ],
  "POST /v1/vector_stores/{vector_store_id}/file_batches": [
    ["file_ids", "honoured", ["$file"]],
    ["files", "honoured", [{ file_id: "$file", attributes: { a: 1 } }]],
    ["attributes", "honoured", { language: "de" }],
    ["chunking_strategy", "honoured", { type: "auto" }],
  ],
  "GET /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/files": [
    ["limit", "honoured", 1],
    ["order", "honoured", "asc"],
    ["after", "honoured", "$member"],
    ["before", "honoured", "$member"],
    ["filter", "honoured", "completed"],
  ],
};
