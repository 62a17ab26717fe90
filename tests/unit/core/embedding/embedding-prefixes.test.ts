import { describe, expect, test } from "bun:test";
import { knownPrefixes } from "../../../../src/core/embedding/embedding-prefixes.ts";

const search = "Represent this sentence for searching relevant passages: ";

describe("the prefixes of an embedding model", () => {
  test.each([
    ["all-MiniLM-L6-v2", "", ""],
    ["intfloat/multilingual-e5-large", "query: ", "passage: "],
    ["e5-small-v2-q8_0.gguf", "query: ", "passage: "],
    ["nomic-embed-text-v1.5.Q8_0.gguf", "search_query: ", "search_document: "],
    ["Nomic Embed Text v1.5", "search_query: ", "search_document: "],
    ["bge-small-en-v1.5", search, ""],
    ["bge-m3", "", ""],
    ["mxbai-embed-large-v1", search, ""],
    ["snowflake-arctic-embed-m", search, ""],
    ["snowflake-arctic-embed-l-v2.0", "query: ", ""],
    ["embeddinggemma-300M", "task: search result | query: ", "title: none | text: "],
    ["gte-small", "", ""],
    ["some5model", "", ""],
  ])("%s", (name, query, document) => {
    expect(knownPrefixes([name])).toEqual({ query, document });
  });

  test.each(["multilingual-e5-large-instruct", "Qwen3-Embedding-0.6B"])(
    "are an instruction before the question alone: %s",
    (name) => {
      const { query, document } = knownPrefixes([name]);
      expect(query).toMatch(/^Instruct: .*\nQuery: $/);
      expect(document).toBe("");
    },
  );

  test("are found by any of the names that a model goes by", () => {
    expect(knownPrefixes(["mine", "", "e5-base-v2.gguf"]).query).toBe("query: ");
  });
});
