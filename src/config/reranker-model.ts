/** `[retrieval] reranker`: the name of a model, or for short the source of one, which then is a model called `reranker`. */
import { Value } from "@sinclair/typebox/value";
import { ConfigError } from "./config-error.ts";
import type { Problem } from "./consistency.ts";
import { ModelConfig } from "./model-schema.ts";
import type { Config } from "./schema.ts";
import { isUpstream } from "./upstream-source.ts";

/** What a model is called that is given by its source alone. */
const impliedName = "reranker";

const isSource = (text: string): boolean =>
  /^(hf|npm|openai|https?):/.test(text) || /[\\/]/.test(text) || /\.gguf$/i.test(text);

/** Says where the settings go that a reranker had before it was a model. */
export function rejectFormerSettings(retrieval: unknown, place: string): void {
  if (typeof retrieval !== "object" || retrieval === null) return;
  if (!("reranker_upstream" in retrieval)) return;
  throw new ConfigError(
    `${place}: [retrieval.reranker_upstream] is gone, since a reranking model is one of the models now. Write its keys into a section [[models]] with a name, type = "reranker" and its source, and that name under [retrieval] reranker.`,
  );
}

export function checkReranker(config: Config): Problem | undefined {
  const { models, retrieval } = config;
  const { reranker } = retrieval;
  if (reranker === undefined) return undefined;
  const path = ["retrieval", "reranker"];
  const named = models.find(({ name }) => name === reranker);
  if (named?.type === "reranker") return undefined;
  if (named !== undefined || !isSource(reranker)) {
    const names = models.filter(({ type }) => type === "reranker").map(({ name }) => name);
    const found = named === undefined ? "" : `, a model of type '${named.type}'`;
    return {
      path,
      message: `'retrieval.reranker' must name a model of type 'reranker' (${names.join(", ") || "none is configured"}), or be the source of one, such as './reranker.gguf'; found '${reranker}'${found}.`,
    };
  }
  if (!models.some(({ name }) => name === impliedName)) return undefined;
  return {
    path,
    message: `'retrieval.reranker' is the source of a model that would be called '${impliedName}', and [[models]] has one of that name. Give the source a section of its own with type = "reranker", and write its name here.`,
  };
}

/** The configuration with a section for a reranking model that was given by its source alone. */
export function withRerankerModel(config: Config): Config {
  const { models, retrieval } = config;
  const { reranker: source } = retrieval;
  if (source === undefined || models.some(({ name }) => name === source)) return config;
  const section = { name: impliedName, type: "reranker", source };
  const model = Value.Decode(ModelConfig, Value.Default(ModelConfig, section));
  return {
    ...config,
    // Its server knows it by a name of its own, and is asked which that is.
    models: [...models, isUpstream(source) ? { ...model, upstream_model: "" } : model],
    retrieval: { ...retrieval, reranker: impliedName },
  };
}
