import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../src/config/load.ts";

const load = (text: string, flags: Record<string, string> = {}) =>
  loadConfig({ file: { path: "paddock.toml", text }, env: {}, flags });
const refusal = (text: string): string => {
  try {
    load(text);
    return "";
  } catch (error) {
    return String(error);
  }
};
const model = (name: string, type: string, more = "") =>
  `[[models]]\nname = "${name}"\ntype = "${type}"\nsource = "./${name}.gguf"\n${more}`;
const reranker = (value: string) => `[retrieval]\nreranker = "${value}"\n`;

describe("the reranker of retrieval", () => {
  test("is a model of the configuration, by its name", () => {
    const { models, retrieval } = load(reranker("judge") + model("judge", "reranker"));
    expect(retrieval.reranker).toBe("judge");
    expect(models.map(({ name }) => name)).toEqual(["judge"]);
  });

  test("has whatever a model has", () => {
    const digest = "a".repeat(64);
    const more = `sha256 = "${digest}"\nkeep_alive = 60\nctx_size = 512\n`;
    expect(load(model("judge", "reranker", more)).models).toMatchObject([
      { sha256: digest, keep_alive: 60, ctx_size: 512 },
    ]);
  });

  test.each([
    "./ranks.gguf",
    "ranks.GGUF",
    "models/ranks",
    "hf:owner/ranks:Q8_0",
    "npm:ranks@1.0.0/ranks.gguf",
    "https://example.org/ranks",
    "openai:http://gpu-3:8080/v1",
  ])("is, for short, the source of one beside the others: %s", (source) => {
    const { models, retrieval } = load(reranker(source));
    expect(retrieval.reranker).toBe("reranker");
    expect(models.map(({ name, type }) => [name, type])).toEqual([
      ["TinyLlama-1.1B-Chat-v1.0", "chat"],
      ["all-MiniLM-L6-v2", "embedding"],
      ["reranker", "reranker"],
    ]);
    expect(models[2]).toMatchObject({ source, keep_alive: -1, ctx_size: 0 });
  });

  test("can be given by an option, as either", () => {
    const named = load(model("judge", "reranker"), { reranker: "judge" });
    expect(named.retrieval.reranker).toBe("judge");
    const source = load(model("judge", "reranker"), { reranker: "./other.gguf" });
    expect(source.models.map(({ name }) => name)).toEqual(["judge", "reranker"]);
  });

  test("must be there, and of its type", () => {
    expect(refusal(reranker("judge"))).toContain(
      "'retrieval.reranker' must name a model of type 'reranker' (none is configured), or be the source of one, such as './reranker.gguf'; found 'judge'.",
    );
    expect(
      refusal(reranker("talk") + model("talk", "chat") + model("judge", "reranker")),
    ).toContain(
      "must name a model of type 'reranker' (judge), or be the source of one, such as './reranker.gguf'; found 'talk', a model of type 'chat'.",
    );
  });

  test("given by its source does not hide a model of its name", () => {
    expect(refusal(reranker("./a.gguf") + model("reranker", "reranker"))).toContain(
      "'retrieval.reranker' is the source of a model that would be called 'reranker', and [[models]] has one of that name.",
    );
  });

  test("has no settings beside those of its section", () => {
    const upstream = '[retrieval.reranker_upstream]\nupstream_model = "x"\n';
    expect(refusal(reranker("openai:http://gpu-3:8080") + upstream)).toContain(
      "unknown key 'retrieval.reranker_upstream'",
    );
  });

  test("at an address goes by whatever name its server has for it", () => {
    expect(load(reranker("openai:http://gpu-3:8080")).models.at(-1)).toMatchObject({
      name: "reranker",
      upstream_model: "",
    });
    expect(refusal(reranker("openai:gpu"))).toContain("'retrieval.reranker' must be 'openai:'");
  });

  test.each(["auto", "starter:reranker", "starter:chat"])("is no starter model: %s", (source) => {
    const text = `[[models]]\nname = "judge"\ntype = "reranker"\nsource = "${source}"\n`;
    expect(refusal(text)).toContain(
      `'models[0].source' must name a reranking model's file or server: there is no starter model of type 'reranker'; found '${source}'.`,
    );
  });
});
