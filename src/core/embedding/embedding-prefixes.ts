/** Prefixes that common families of embedding models expect before a question and a passage. */

export interface EmbeddingPrefixes {
  query: string;
  document: string;
}

const none: EmbeddingPrefixes = { query: "", document: "" };

const searchSentence = "Represent this sentence for searching relevant passages: ";
const instruction =
  "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";

/** As the models' authors document them; the first match counts. */
const families: readonly (readonly [RegExp, EmbeddingPrefixes])[] = [
  [/e5.*instruct/, { query: instruction, document: "" }],
  [/(^|[^a-z0-9])e5([^a-z0-9]|$)/, { query: "query: ", document: "passage: " }],
  [/nomic-embed/, { query: "search_query: ", document: "search_document: " }],
  [/bge-m3/, none],
  [/bge-(small|base|large)-zh/, { query: "为这个句子生成表示以用于检索相关文章：", document: "" }],
  [/bge-(small|base|large)/, { query: searchSentence, document: "" }],
  [/mxbai-embed/, { query: searchSentence, document: "" }],
  [/arctic-embed.*(v2|-2\.0)/, { query: "query: ", document: "" }],
  [/arctic-embed/, { query: searchSentence, document: "" }],
  [/qwen3-embedding/, { query: instruction, document: "" }],
  [
    /embedding-?gemma/,
    { query: "task: search result | query: ", document: "title: none | text: " },
  ],
];

/** A model's name is read from its file and may be of any length; some expressions above take quadratic time. */
const longestName = 1000;

/** Matches any of the model's names; a model of no known family has no prefixes. */
export function knownPrefixes(names: readonly string[]): EmbeddingPrefixes {
  const spelled = names.map((name) =>
    name
      .slice(0, longestName)
      .toLowerCase()
      .replace(/[\s_]+/g, "-"),
  );
  const family = families.find(([pattern]) => spelled.some((name) => pattern.test(name)));
  return family?.[1] ?? none;
}
