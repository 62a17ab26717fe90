import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../../src/core/errors.ts";
import type { FoundPassage } from "../../../../../src/core/retrieval/search.ts";
import {
  checkedFileSearch,
  citationsFor,
  toFileSearchCall,
  toRag,
} from "../../../../../src/server/operations/responses/file-search.ts";
import { passage } from "../../../../support/passages.ts";

const tool = { type: "file_search", vector_store_ids: ["vs_1", "manuals"] };

const found = (number: number, more: Partial<FoundPassage> = {}): FoundPassage => ({
  ...passage(number, [1, 0, 0]),
  source: `Text ${number}.`,
  document: `${number}.md`,
  file: `file-${number}`,
  store: "vs_1",
  score: 0.5,
  ...more,
});

const grounding = (points: readonly FoundPassage[], carried = 0) => ({
  ...{ points, carried },
  dropped: 0,
});

function refusalOf(work: () => unknown): NodeError {
  try {
    work();
  } catch (error) {
    if (error instanceof NodeError) return error;
  }
  throw new Error("It was not refused.");
}

describe("the tool file_search", () => {
  test("becomes grounding in its vector stores, within what it bounds", () => {
    const asked = checkedFileSearch(
      {
        ...tool,
        max_num_results: 7,
        filters: { type: "eq", key: "language", value: "de" },
        ranking_options: { ranker: "auto", score_threshold: 0.3 },
      },
      "tools[1]",
    );
    expect(toRag(asked, "tools[1]")).toEqual({
      stores: ["vs_1", "manuals"],
      storesField: "tools[1].vector_store_ids",
      filter: { type: "eq", key: "language", value: "de" },
      bounds: { limit: 7, scoreThreshold: 0.3 },
    });
  });

  test("leaves the bounds to the node where it names none, or null", () => {
    const nothing = { filters: null, max_num_results: null, ranking_options: null };
    for (const more of [{}, nothing, { ranking_options: { score_threshold: null } }]) {
      const asked = checkedFileSearch({ ...tool, ...more }, "tools[0]");
      expect(toRag(asked, "tools[0]")).toMatchObject({ stores: ["vs_1", "manuals"], bounds: {} });
    }
  });

  test.each([
    [{ vector_store_ids: [] }, "vector_store_ids"],
    [{ vector_store_ids: undefined }, "vector_store_ids"],
    [{ vector_store_ids: Array.from({ length: 17 }, () => "vs") }, "vector_store_ids"],
    [{ max_num_results: 51 }, "max_num_results"],
    [{ max_num_results: 0 }, "max_num_results"],
    [{ ranking_options: { ranker: "mine" } }, "ranking_options.ranker"],
    [{ ranking_options: { score_threshold: 2 } }, "ranking_options.score_threshold"],
  ])("refuses %j by the field's whole name", (more, field) => {
    const error = refusalOf(() => checkedFileSearch({ ...tool, ...more }, "tools[2]"));
    expect(error.param).toBe(`tools[2].${field}`);
    expect(error.message).toContain(`'tools[2].${field}'`);
  });

  test("names the filter that cannot be read where it stands", () => {
    const asked = checkedFileSearch({ ...tool, filters: { type: "eq" } }, "tools[2]");
    expect(refusalOf(() => toRag(asked, "tools[2]")).param).toBe("tools[2].filters.key");
  });
});

describe("a call of file_search", () => {
  const asked = { question: "Do llamas hum?", includesResults: true, found: [] };

  test("has what this turn found, with the attributes of its files", () => {
    const points = [found(2, { score: 0.8 }), found(3, { score: -0.1 })].map((point) => ({
      ...point,
      attributes: { file: point.file },
    }));
    expect(toFileSearchCall(grounding(points), { ...asked, found: points })).toEqual({
      status: "completed",
      queries: ["Do llamas hum?"],
      results: [
        {
          file_id: "file-2",
          filename: "2.md",
          score: 0.8,
          text: "Text 2.",
          attributes: { file: "file-2" },
        },
        {
          file_id: "file-3",
          filename: "3.md",
          score: 0,
          text: "Text 3.",
          attributes: { file: "file-3" },
        },
      ],
    });
  });

  test("has no results where nobody asked for them", () => {
    const call = toFileSearchCall(grounding([found(1)]), { ...asked, includesResults: false });
    expect(call).toEqual({ status: "completed", queries: ["Do llamas hum?"], results: null });
  });

  test("has failed where the search has", () => {
    const failed = { ...grounding([]), error: "The store is away." };
    expect(toFileSearchCall(failed, asked)).toMatchObject({ status: "failed", results: [] });
  });
});

describe("citations", () => {
  const points = [found(1), found(2), found(3, { file: "", document: "" })];
  const cited = (text: string) =>
    citationsFor({ points })(text).map(({ index, file_id }) => [index, file_id]);

  test("are there for each marker of a passage, where it stands", () => {
    const text = "Sie summen 🦙 [2], und das oft [1][2].";
    expect(citationsFor({ points })(text)).toEqual([
      { type: "file_citation", file_id: "file-2", filename: "2.md", index: text.indexOf("[2]") },
      { type: "file_citation", file_id: "file-1", filename: "1.md", index: text.indexOf("[1]") },
      {
        type: "file_citation",
        file_id: "file-2",
        filename: "2.md",
        index: text.lastIndexOf("[2]"),
      },
    ]);
  });

  test("are read from lists of markers too", () => {
    expect(cited("So it is [1, 2].")).toEqual([
      [9, "file-1"],
      [9, "file-2"],
    ]);
  });

  test("are not there for what is no passage, or has no file", () => {
    expect(cited("[0] [4] [3] [99999] [x] [] 1] [1")).toEqual([]);
  });

  test("of a long text of markers take no longer than the text is long", () => {
    expect(cited("[1".repeat(50_000))).toEqual([]);
    expect(cited(`[${"1,".repeat(50_000)}`)).toEqual([]);
  });
});
