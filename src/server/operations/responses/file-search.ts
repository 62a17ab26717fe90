/** The tool `file_search`: its schema, the grounding request it becomes, and its citations. */
import { type Static, Type as T } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Grounding, RagRequest } from "../../../core/chat/rag.ts";
import type { FoundInFile } from "../../../core/documents/store-search.ts";
import { NodeError } from "../../../core/errors.ts";
import { invalid } from "../../middleware/read-request.ts";
import { Filter, StoreReferences, toFilter } from "../../wire/attributes.ts";
import * as f from "../../wire/fields.ts";
import type { Annotation, FileSearchCall } from "./schema.ts";

export const FileSearchTool = f.openObject({
  type: T.Literal("file_search"),
  vector_store_ids: {
    ...StoreReferences,
    description:
      "Ids or names of vector stores, searched as one with the user's last message, before the answer begins. A request may have one search.",
  },
  filters: f.nullable(Filter, "Which of their files to search."),
  max_num_results: f.nullable(f.integer(1, 50), "Most passages, within the node's `rag.limit`."),
  ranking_options: f.nullable(
    f.openObject({
      ranker: f.nullable(
        f.oneOf(["auto", "default-2024-11-15"]),
        "Both mean the node's reranking model, if it has one.",
      ),
      score_threshold: f.nullable(
        f.number(0, 1),
        "Least score of a passage, at least the node's `rag.score_threshold`.",
      ),
      hybrid_search: f.rejected(
        "cannot be honoured: the node decides how vectors and words count together (retrieval.mode). Leave it out",
      ),
    }),
    "How passages are ranked.",
  ),
});

export type FileSearchTool = Static<typeof FileSearchTool>;

const checker = TypeCompiler.Compile(FileSearchTool);

export function checkedFileSearch(tool: object, at: string): FileSearchTool {
  if (checker.Check(tool)) return tool;
  const { kind, message, param = "" } = invalid(FileSearchTool, tool);
  const named = message.replace(`'${param}'`, `'${at}.${param}'`);
  throw new NodeError(kind, named, { param: `${at}.${param}` });
}

/** The tool as a grounding request: every turn is searched, whatever the node's own setting. */
export function toRag(tool: FileSearchTool, at: string): RagRequest {
  const { vector_store_ids: stores, filters, max_num_results: limit, ranking_options } = tool;
  return {
    stores,
    storesField: `${at}.vector_store_ids`,
    ...f.withoutNulls({ filter: filters && toFilter(filters, `${at}.filters`) }),
    bounds: f.withoutNulls({ limit, scoreThreshold: ranking_options?.score_threshold }),
  };
}

export type FileSearchAnswer = Pick<FileSearchCall, "queries" | "results"> & {
  status: "completed" | "failed";
};

interface FileSearchAsked {
  question: string;
  includesResults: boolean;
  /** The passages of this turn, with the attributes of their files. */
  found: readonly FoundInFile[];
}

export function toFileSearchCall(
  { error }: Grounding,
  { question, includesResults, found }: FileSearchAsked,
): FileSearchAnswer {
  // The id and the name are empty if the collection does not store a passage's document.
  const results = found.map((passage) => ({
    file_id: passage.file,
    filename: passage.document,
    score: Math.max(0, passage.score),
    text: passage.source,
    attributes: { ...passage.attributes },
  }));
  return {
    status: error === undefined ? "completed" : "failed",
    queries: [question],
    results: includesResults ? results : null,
  };
}

/** `[1]`, or `[1, 3]`, which some models write. */
const markers = /\[(\d{1,4}(?:, ?\d{1,4})*)\]/g;

/** Citations of an answer: each is sent four times, and stored. */
const mostCitations = 1000;
/** Characters of a text that are searched for markers: more than any model writes. */
const mostSearched = 1024 * 1024;

/**
 * Finds the citations of one answer, in one text after the other: one for each marker that refers
 * to a passage. One without a file id, in a collection that another program filled, cannot be
 * cited; `retrieval` explains its marker.
 */
export function citationsFor({ points }: Pick<Grounding, "points">) {
  let left = mostCitations;
  return (text: string): Annotation[] => {
    const found: Annotation[] = [];
    for (const { index, 1: numbers = "" } of text.slice(0, mostSearched).matchAll(markers)) {
      for (const number of numbers.split(",")) {
        if (left === 0) return found;
        const passage = points[Number(number) - 1];
        if (passage === undefined || passage.file === "") continue;
        const { file: file_id, document: filename } = passage;
        found.push({ type: "file_citation", file_id, filename, index });
        left--;
      }
    }
    return found;
  };
}
