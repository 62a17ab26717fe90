/** The collection, how it is searched, and how chats are grounded in it. */
import { Type as T } from "@sinclair/typebox";
import { defaultGroundingPrompt, ragPolicies } from "../core/chat/rag-policy.ts";
import { collectionNamePattern, collectionNameRule } from "../core/retrieval/collection-name.ts";

const strict = { additionalProperties: false } as const;

export const Vectorstore = T.Object(
  {
    url: T.String({
      pattern: "^(embedded|https?://[^\\s/@?#]+(/[^\\s?#]*)?)$",
      "x-expected": "'embedded', or the http(s):// address of a Qdrant server without credentials",
      default: "embedded",
      description:
        "`embedded`: SQLite files in the data dir; else the `http(s)://` address of a Qdrant server. Without a port, http means 6333 and https 443.",
    }),
    api_key: T.Optional(
      T.String({ minLength: 1, "x-expected": "a key", description: "Key of the Qdrant server." }),
    ),
    timeout: T.Number({
      minimum: 0.1,
      maximum: 300,
      default: 5,
      description:
        "Seconds that the Qdrant server may take to answer a question; a change may take six times as long.",
    }),
    collection_name: T.String({
      pattern: collectionNamePattern,
      "x-expected": collectionNameRule,
      default: "default",
      description: "Name of the collection.",
    }),
    limit: T.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: "Most passages that retrieval returns.",
    }),
    score_threshold: T.Number({
      minimum: -1,
      maximum: 1,
      default: 0.4,
      description: "Least score of a returned passage.",
    }),
    handbook: T.Boolean({
      default: true,
      description: "Fill a collection that is empty at start with the node's own handbook.",
    }),
    embedding_model: T.Optional(
      T.String({
        minLength: 1,
        "x-default": "the first",
        description: "Name of the embedding model that fills the collection.",
      }),
    ),
  },
  { ...strict, default: {} },
);

export const Retrieval = T.Object(
  {
    mode: T.Union([T.Literal("dense"), T.Literal("hybrid")], {
      default: "hybrid",
      description: "`hybrid`: by vectors and words; `dense`: by vectors alone.",
    }),
    candidates: T.Integer({
      minimum: 1,
      maximum: 500,
      default: 50,
      description: "Passages that words or a reranking model choose from.",
    }),
    reranker: T.Optional(
      T.String({
        minLength: 1,
        description:
          "Name of a model of type `reranker` that judges them; or, for short, the source of one, which then is a model called `reranker`.",
      }),
    ),
  },
  { ...strict, default: {} },
);

export const Rag = T.Object(
  {
    policy: T.Union(
      ragPolicies.map((policy) => T.Literal(policy)),
      { default: "off", description: "Where a chat's passages go." },
    ),
    prompt: T.String({
      minLength: 1,
      default: defaultGroundingPrompt,
      "x-default": "see the page about knowledge",
      description: "What the model is told about the passages.",
    }),
    limit: T.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: "Most passages of a chat.",
    }),
    score_threshold: T.Number({
      minimum: -1,
      maximum: 1,
      default: 0.4,
      description: "Least score of a chat's passage.",
    }),
    auto_threshold: T.Number({
      minimum: -1,
      maximum: 1,
      default: 0.45,
      description:
        'Least score of a passage of a chat with `"rag": "auto"`; never less than `score_threshold`.',
    }),
    context_window: T.Integer({
      minimum: 1,
      maximum: 100,
      default: 1,
      description:
        "How many of the last user messages make the question, and the most that a request may ask for.",
    }),
    follow_ups: T.Boolean({
      default: true,
      description:
        'Where `context_window` is 1: whether a last user message that is short, or leans on what was before it ("and how much does it cost?"), is searched for together with the user message before.',
    }),
  },
  { ...strict, default: {} },
);
