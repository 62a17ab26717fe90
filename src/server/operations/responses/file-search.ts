/** The tool `file_search`: what it asks for as grounding, and what grounding gave as its call and its citations. */
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Grounding, RagRequest } from "../../../core/chat/rag.ts";
import type { FoundInFile } from "../../../core/documents/store-search.ts";
import { NodeError } from "../../../core/errors.ts";
import { invalid } from "../../middleware/read-request.ts";
import { toFilter } from "../../wire/attributes.ts";
import { withoutNulls } from "../../wire/fields.ts";
import type { Annotation, FileSearchCall } from "./schema.ts";
import { FileSearchTool } from "./tool-schema.ts";

const checker = TypeCompiler.Compile(FileSearchTool);

/** A tool whose type is `file_search`, or an error that names the field; `at`: `tools[0]`. */
export function checkedFileSearch(tool: object, at: string): FileSearchTool {
  if (checker.Check(tool)) return tool;
  const { kind, message, param = "" } = invalid(FileSearchTool, tool);
  const named = message.replace(`'${param}'`, `'${at}.${param}'`);
  throw new NodeError(kind, named, { param: `${at}.${param}` });
}

/** What it asks for, as grounding: every turn is searched for, whatever the node does by itself. */
export function toRag(tool: FileSearchTool, at: string): RagRequest {
  const { vector_store_ids: stores, filters, max_num_results: limit, ranking_options } = tool;
  return {
    stores,
    storesField: `${at}.vector_store_ids`,
    ...withoutNulls({ filter: filters && toFilter(filters, `${at}.filters`) }),
    bounds: withoutNulls({ limit, scoreThreshold: ranking_options?.score_threshold }),
  };
}

/** A call as its output item has it, which adds its id and type. */
export type FileSearchAnswer = Pick<FileSearchCall, "queries" | "results"> & {
  status: "completed" | "failed";
};

export interface FileSearchAsked {
  /** What was searched for: the last user message. */
  question: string;
  includesResults: boolean;
  /** What this turn found, with the attributes of its files. */
  found: readonly FoundInFile[];
}

export function toFileSearchCall(
  { error }: Grounding,
  { question, includesResults, found }: FileSearchAsked,
): FileSearchAnswer {
  // The id and the name are empty where the collection does not say which document it is.
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

/** `[1]`, and `[1, 3]` as some models write it. */
const markers = /\[(\d{1,4}(?:, ?\d{1,4})*)\]/g;

/**
 * A citation for each marker in the text that stands for a passage. Documents of the command line and
 * of the handbook have file ids too. What has none, in a collection that another program filled, cannot
 * be cited: its marker stays in the text, and the response's `retrieval` says what it stands for.
 * Where a marker begins is counted as JavaScript counts.
 */
export function annotationsOf(text: string, { points }: Pick<Grounding, "points">): Annotation[] {
  return [...text.matchAll(markers)].flatMap(({ index, 1: numbers = "" }) =>
    numbers.split(",").flatMap((number): Annotation[] => {
      const passage = points[Number(number) - 1];
      if (passage === undefined || passage.file === "") return [];
      return [{ type: "file_citation", file_id: passage.file, filename: passage.document, index }];
    }),
  );
}
