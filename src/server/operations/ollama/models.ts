/** What Ollama's clients ask about models: GET /api/tags, /api/ps and /api/version, POST /api/show. */
import { type Static, Type as T } from "@sinclair/typebox";
import { given } from "../../../core/given.ts";
import {
  capabilities,
  capabilitiesOf,
  type LoadedModel,
  type ModelCard,
  type Residence,
} from "../../../core/models/model.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import * as f from "../../wire/fields.ts";
import type { ModelNeeds } from "../../wire/models.ts";
import { Time } from "./answer-schema.ts";
import { ollamaErrors } from "./error-format.ts";
import { ollamaModelErrors } from "./operation.ts";
import { modelNamed, nameIn, usualTag } from "./request.ts";
import { named } from "./schema.ts";

/** The version of Ollama whose API this is: its clients compare it. The node's own is in /v1/info. */
const apiVersion = "0.13.0";

/** Ollama's clients read a time that is further away than some decades as "forever". */
const forever = "2200-01-01T00:00:00.000Z";

const Details = T.Object({
  parent_model: T.Literal(""),
  format: T.String({ description: "`gguf`; empty for an upstream model." }),
  family: T.String({ description: "The architecture; empty if it is not known, as is the rest." }),
  families: T.Array(T.String()),
  parameter_size: T.String(),
  quantization_level: T.String(),
});

const listed = {
  name: T.String(),
  model: T.String({ description: "The same." }),
  digest: T.String({
    description: "64 hexadecimal digits; they change when the weights, the engine or settings do.",
  }),
  details: Details,
  size: f.count("Bytes of the weights; 0 for an upstream model."),
};

export const OllamaModelList = T.Object({
  models: T.Array(T.Object({ ...listed, modified_at: Time })),
});

export const OllamaRunningModels = T.Object({
  models: T.Array(
    T.Object({
      ...listed,
      size: f.count(
        "Bytes of its process, and those of `size_vram`; to callers without a key, of the weights.",
      ),
      size_vram: f.count("Bytes of the weights on an accelerator, by its share of the layers."),
      context_length: f.count("Tokens of the context."),
      expires_at: T.String({
        description:
          "When it is unloaded unless it is used; far in the future if that is not planned.",
      }),
    }),
  ),
});

const noEffect = "The answer describes the model as it is served.";

export const OllamaShowRequest = f.openObject({
  model: f.nullable(
    T.String(),
    "Name of a model of this node; `:latest` after it changes nothing.",
  ),
  name: named.name,
  verbose: f.accepted("There is nothing more to tell."),
  system: f.accepted(noEffect),
  template: f.accepted(noEffect),
  options: f.accepted(noEffect),
});

export const OllamaModel = T.Object({
  modelfile: T.String(),
  parameters: T.String({ description: "The model's settings, a line for each." }),
  template: T.Literal("", { description: "Templates are not told." }),
  details: Details,
  model_info: T.Record(T.String(), T.Unknown(), {
    description:
      "`general.architecture`, `general.parameter_count`, and under the architecture's name `context_length`, the context that it is served with, and `embedding_length`. 0: not known.",
  }),
  capabilities: T.Array(f.oneOf(["completion", ...capabilities])),
  modified_at: Time,
});

type OllamaModel = Static<typeof OllamaModel>;

export const OllamaVersion = T.Object({
  version: T.String({ description: "The version of Ollama whose API the node follows." }),
});

const common = { name: "ollama_models", tag: "Ollama", errorFormat: ollamaErrors } as const;

const exampleDetails: Static<typeof Details> = {
  parent_model: "",
  format: "gguf",
  family: "llama",
  families: ["llama"],
  parameter_size: "1.1B",
  quantization_level: "Q4_K_M",
};

const exampleModel = {
  name: `TinyLlama-1.1B-Chat-v1.0${usualTag}`,
  model: `TinyLlama-1.1B-Chat-v1.0${usualTag}`,
  digest: "5c3a9e1b7d205c3a9e1b7d205c3a9e1b7d205c3a9e1b7d205c3a9e1b7d205c3a",
  details: exampleDetails,
  size: 668_788_096,
};

const modifiedAt = "2026-11-17T12:00:00.000Z";

export const ollamaModelOperations = [
  defineOperation({
    ...common,
    route: "GET /api/tags",
    operationId: "ollamaTags",
    summary: "List the models, in Ollama's API",
    description: "The chat and embedding models, loaded or not.",
    answer: described({ OllamaModelList }, "The models.", {
      models: [{ ...exampleModel, modified_at: modifiedAt }],
    }),
    handler: async (_request, _context, { models, library }: ModelNeeds) => {
      await library.refresh();
      const listed = usable(models).map((model) => ({
        ...toListed(model),
        modified_at: model.card.createdAt.toISOString(),
      }));
      return { json: { models: listed } satisfies Static<typeof OllamaModelList> };
    },
  }),
  defineOperation({
    ...common,
    route: "GET /api/ps",
    key: "optional",
    operationId: "ollamaPs",
    summary: "List the models that are loaded, in Ollama's API",
    answer: described({ OllamaRunningModels }, "The models.", {
      models: [{ ...exampleModel, size_vram: 0, context_length: 2048, expires_at: forever }],
    }),
    handler: (_request, { isStranger }, { models }: ModelNeeds) => ({
      json: {
        models: usable(models).flatMap((model) => {
          const residence = model.residence?.() ?? { state: "loaded" };
          if (residence.state !== "loaded") return [];
          const { bytes, unloadsAt }: Partial<Residence> = isStranger ? {} : residence;
          const { card } = model;
          const accelerated = acceleratedBytes(card);
          return {
            ...toListed(model),
            ...given({ size: bytes && bytes + accelerated }),
            size_vram: accelerated,
            context_length: card.settings.ctxSize,
            expires_at: unloadsAt?.toISOString() ?? forever,
          };
        }),
      } satisfies Static<typeof OllamaRunningModels>,
    }),
  }),
  defineOperation({
    ...common,
    route: "POST /api/show",
    operationId: "ollamaShow",
    summary: "Describe a model, in Ollama's API",
    // It reads a body, which strangers may not fill.
    scope: "chat",
    body: {
      ...namedSchema({ OllamaShowRequest }),
      example: { model: "TinyLlama-1.1B-Chat-v1.0" },
      takesAnyType: true,
      logged: ({ model, name }) => ({ model: model ?? name }),
    },
    answer: described({ OllamaModel }, "The model.", {
      modelfile: "FROM TinyLlama-1.1B-Chat-v1.0\nPARAMETER num_ctx 2048\n",
      parameters: "num_ctx                        2048",
      template: "",
      details: exampleDetails,
      model_info: {
        "general.architecture": "llama",
        "general.parameter_count": 1_100_048_384,
        "llama.context_length": 2048,
      },
      capabilities: ["completion", "tools"],
      modified_at: modifiedAt,
    }),
    errors: ollamaModelErrors,
    handler: async ({ body }, _context, needs: ModelNeeds) => {
      const asked = nameIn(body);
      const { models, library } = needs;
      await library.refresh();
      return { json: toShown(models, models.card(await modelNamed(needs, asked))) };
    },
  }),
  defineOperation({
    ...common,
    route: "GET /api/version",
    operationId: "ollamaVersion",
    summary: "Tell the version of Ollama's API",
    answer: described({ OllamaVersion }, "The version.", { version: apiVersion }),
    handler: () => ({ json: { version: apiVersion } satisfies Static<typeof OllamaVersion> }),
  }),
] as const;

/** Ollama's API has no operation for reranking models. */
const usable = (models: ModelRegistry): LoadedModel[] =>
  models.all().filter(({ type }) => type !== "reranker");

function toListed({ card, fingerprint }: LoadedModel) {
  const name = card.name.includes(":") ? card.name : `${card.name}${usualTag}`;
  return {
    name,
    model: name,
    digest: new Bun.CryptoHasher("sha256").update(fingerprint).digest("hex"),
    details: toDetails(card),
    size: card.weights?.bytes ?? 0,
  };
}

function toDetails({ weights }: ModelCard): Static<typeof Details> {
  const family = weights?.architecture ?? "";
  return {
    parent_model: "",
    format: weights === undefined ? "" : "gguf",
    family,
    families: weights === undefined ? [] : [family],
    parameter_size: weights === undefined ? "" : shortNumber(weights.parameters),
    quantization_level: weights?.quantization ?? "",
  };
}

/** `1.1B`, `134.5M` */
function shortNumber(count: number): string {
  const [unit, letter] = count >= 1e9 ? [1e9, "B"] : count >= 1e6 ? [1e6, "M"] : [1e3, "K"];
  return `${Math.round((count / unit) * 10) / 10}${letter}`;
}

function acceleratedBytes({ weights, settings }: ModelCard): number {
  if (weights === undefined || weights.layers === 0) return 0;
  return Math.round(weights.bytes * Math.min(1, settings.nGpuLayers / weights.layers));
}

function toShown(models: ModelRegistry, card: ModelCard): OllamaModel {
  const { name, type, settings, weights } = card;
  const parameters = Object.entries({
    num_ctx: settings.ctxSize,
    num_predict: settings.nPredict,
    ...(type === "chat"
      ? {
          temperature: settings.temperature,
          top_p: settings.topP,
          min_p: settings.minP,
          repeat_penalty: settings.repeatPenalty,
          repeat_last_n: settings.repeatLastN,
          presence_penalty: settings.presencePenalty,
          frequency_penalty: settings.frequencyPenalty,
        }
      : {}),
  });
  const architecture = weights?.architecture ?? "upstream";
  const length =
    type === "embedding" ? models.embedding(name).engine.dimension : weights?.embeddingLength;
  return {
    modelfile: [
      `FROM ${name}`,
      ...parameters.map(([key, value]) => `PARAMETER ${key} ${value}`),
      "",
    ].join("\n"),
    parameters: parameters.map(([key, value]) => `${key.padEnd(30)} ${value}`).join("\n"),
    template: "",
    details: toDetails(card),
    model_info: {
      "general.architecture": architecture,
      "general.basename": name,
      // Ollama's own program reads these numbers without looking whether they are there.
      "general.parameter_count": weights?.parameters ?? 0,
      [`${architecture}.context_length`]: settings.ctxSize,
      [`${architecture}.embedding_length`]: length ?? 0,
    },
    capabilities: [...(type === "chat" ? (["completion"] as const) : []), ...capabilitiesOf(card)],
    modified_at: card.createdAt.toISOString(),
  };
}
