/** Settings for collections, retrieval, RAG, ingestion and uploaded documents. */
import { Type as T } from "@sinclair/typebox";
import { defaultGroundingPrompt, ragPolicies } from "../core/chat/rag.ts";
import { collectionNamePattern, collectionNameRule } from "../core/retrieval/collection.ts";
import { atMost, choice, flag, integer, number, optionalText, section, text } from "./keys.ts";

export const Vectorstore = section({
  url: T.String({
    pattern: "^(embedded|https?://[^\\s/@?#]+(/[^\\s?#]*)?)$",
    "x-expected": "'embedded', or the http(s):// address of a Qdrant server without credentials",
    default: "embedded",
    "x-setting": "vectorstore-url",
    "x-hidden": true,
    description:
      "`embedded`: SQLite files in the data dir; else the `http(s)://` address of a Qdrant server. Without a port, http means 6333 and https 443.",
  }),
  api_key: optionalText(
    { minLength: 1, "x-expected": "a key", "x-setting": "vectorstore-api-key", "x-secret": true },
    "Key of the Qdrant server.",
  ),
  timeout: number(
    { minimum: 0.1, maximum: 300, default: 5, "x-setting": "vectorstore-timeout" },
    "Seconds that the Qdrant server may take to answer a question; a change may take six times as long.",
  ),
  collection_name: T.String({
    pattern: collectionNamePattern,
    "x-expected": collectionNameRule,
    default: "default",
    "x-setting": "collection",
    description: "Name of the collection.",
  }),
  limit: integer(
    { minimum: 1, maximum: 100, default: 5, "x-setting": "limit" },
    "Most passages that retrieval returns.",
  ),
  score_threshold: number(
    { minimum: -1, maximum: 1, default: 0.4, "x-setting": "score-threshold" },
    "Least score of a returned passage.",
  ),
  handbook: flag(
    { default: true },
    "Fill a collection that is empty at start with the node's own handbook.",
  ),
  embedding_model: optionalText(
    { minLength: 1, "x-default": "the first" },
    "Name of the embedding model that fills the collection.",
  ),
});

export const Retrieval = section({
  mode: choice(["dense", "hybrid"], {
    default: "hybrid",
    "x-setting": "retrieval-mode",
    description: "`hybrid`: by vectors and words; `dense`: by vectors alone.",
  }),
  candidates: integer(
    { minimum: 1, maximum: 500, default: 50 },
    "Passages that words or a reranking model choose from.",
  ),
  reranker: optionalText(
    { minLength: 1, "x-setting": "reranker" },
    "Name of a model of type `reranker` that ranks the candidates; or its source, which then is a model called `reranker`.",
  ),
});

export const Rag = section({
  policy: choice(ragPolicies, {
    default: "off",
    "x-setting": "rag-policy",
    description: "Where a chat's passages go.",
  }),
  prompt: text(
    { minLength: 1, default: defaultGroundingPrompt, "x-default": "see the page about knowledge" },
    "What the model is told about the passages.",
  ),
  limit: integer({ minimum: 1, maximum: 100, default: 5 }, "Most passages of a chat."),
  score_threshold: number(
    { minimum: -1, maximum: 1, default: 0.4 },
    "Least score of a chat's passage.",
  ),
  auto_threshold: number(
    { minimum: -1, maximum: 1, default: 0.45 },
    'Least score of a passage of a chat with `"rag": "auto"`; never less than `score_threshold`.',
  ),
  context_window: integer(
    { minimum: 1, maximum: 100, default: 1 },
    "How many of the last user messages are searched for, and the most that a request may ask for.",
  ),
  follow_ups: flag(
    { default: true },
    'Where `context_window` is 1: whether a last user message that is short, or leans on what was before it ("and how much does it cost?"), is searched for together with the user message before.',
  ),
});

export const Ingest = section({
  max_file_bytes: integer(
    { minimum: 1024, default: 64 * 1024 * 1024 },
    "Largest file that is read, and most bytes of standard input.",
  ),
  max_unpacked_bytes: integer(
    { minimum: 1024, default: 64 * 1024 * 1024 },
    "Most bytes that the text of an Office file or an EPUB unpacks to.",
  ),
  max_unpack_ratio: integer(
    { minimum: 1, default: 100 },
    "How many times its own size an Office file or an EPUB may unpack to; up to 256 KiB it may be any.",
  ),
  max_elements: integer(
    { minimum: 1, default: 500_000 },
    "Most elements of a Word file, a presentation, an EPUB or an HTML page; each of Word's takes about 25 µs and 2 kB.",
  ),
  max_pages: integer(
    { minimum: 1, default: 5000 },
    "Most pages of a PDF, slides of a presentation, and sheets of a workbook.",
  ),
  max_records: integer(
    { minimum: 1, default: 1_000_000 },
    "Most rows of a CSV or TSV file or of a sheet, and most lines of a JSONL file.",
  ),
  max_text_length: integer(
    { minimum: 1, default: 64 * 1024 * 1024 },
    "Most characters of text that come out of a file.",
  ),
  read_timeout: integer(
    { minimum: 1, maximum: 86_400, default: 120 },
    "Seconds that reading a file may take.",
  ),
  read_memory: integer(
    { minimum: 256, default: 2048 },
    "Megabytes of memory that reading a file may use; enforced on Linux.",
  ),
});

export const Documents = section({
  max_file_bytes: integer(
    { minimum: 1024, default: 64 * 1024 * 1024 },
    "Largest upload; `ingest` says what can be read of it.",
  ),
  max_bytes: atMost(
    10 * 1024 * 1024 * 1024,
    "Bytes of all uploaded files, each counted as 1,024 at least",
  ),
  max_bytes_per_key: atMost(
    0,
    "Bytes of the uploaded files of each key without a bound of its own",
  ),
  max_files: atMost(100_000, "Uploaded files"),
  max_files_per_key: atMost(0, "Uploaded files of each key"),
  max_passages: atMost(1_000_000, "Passages of all files in vector stores"),
  max_passages_per_key: atMost(0, "Passages of each key without a bound of its own"),
  max_vector_stores: integer(
    { minimum: 1, default: 1000 },
    "Most vector stores, half of these of one key.",
  ),
  max_queue: integer(
    { minimum: 1, default: 10_000 },
    "Most files that wait to be ingested, half of these of one key.",
  ),
});
