/** /v1/models: lists, loads, unloads, pulls and deletes models. */

import { given } from "../../../core/given.ts";
import { capabilitiesOf, type LoadedModel } from "../../../core/models/model.ts";
import type { ModelLibrary } from "../../../core/models/model-library.ts";
import { redactPaths } from "../../middleware/errors.ts";
import { modelErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import { toSeconds } from "../../wire/fields.ts";
import { followPull, type ModelNeeds, unload } from "../../wire/models.ts";
import {
  CancelledPull,
  DeletedModel,
  Model,
  ModelList,
  ModelName,
  PullEvent,
  PulledModel,
  PullRequest,
} from "./schema.ts";

const name = "TinyLlama-1.1B-Chat-v1.0";

const modelExample: Model = {
  id: name,
  created: 1794700800,
  object: "model",
  owned_by: "paddock",
  max_model_len: 2048,
  context_length: 2048,
  type: "chat",
  loaded: true,
  capabilities: ["tools"],
  unloadable: true,
  removable: false,
  size: 636_729_504,
  quantization: "Q4_0",
  parameters: 1_100_048_384,
};

const common = { name: "models", tag: "Models" } as const;

const list = {
  ...common,
  description: "The models of every type, loaded or not. No body is read.",
  key: "optional",
  answer: described({ ModelList }, "The models.", {
    ...{ object: "list", data: [modelExample], manageable: true },
  }),
  handler: async (_request: unknown, context: RequestContext, needs: ModelNeeds) => {
    const { models, library } = needs;
    const { isStranger } = context;
    await library.refresh();
    const data = models.all().map((model) => toModel(model, library, isStranger));
    const pulling = library.pulling();
    const manageable = context.opens("models");
    const more = isStranger ? {} : { memory: await library.memory(), ...given({ pulling }) };
    return { json: { object: "list", data, manageable, ...more } satisfies ModelList };
  },
} as const;

const managed = { ...common, scope: "models" } as const;

const ofModel = {
  ...namedSchema({ ModelName }),
  example: { model: name },
  logged: ({ model }: { model: string }) => ({ model }),
};

const sourceExample = "hf:bartowski/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M";
const pulledExample: PulledModel = {
  status: "success",
  model: "Qwen2.5-1.5B-Instruct-GGUF-Q4_K_M",
};

export const modelOperations = [
  defineOperation({
    ...list,
    route: "POST /v1/models",
    operationId: "listModels",
    summary: "List the models",
  }),
  defineOperation({
    ...list,
    route: "GET /v1/models",
    operationId: "getModels",
    summary: "List the models, for OpenAI's clients",
  }),
  defineOperation({
    ...common,
    route: "GET /v1/models/:id",
    operationId: "getModel",
    summary: "Describe one model",
    key: "optional",
    parameters: { id: "The model's name." },
    answer: described({ Model }, "The model.", modelExample),
    errors: { 404: "There is no such model: code `model_not_found`." },
    handler: async ({ parameters: { id } }, { isStranger }, { models, library }: ModelNeeds) => {
      if (models.typeOf(id) === undefined) await library.refresh();
      return { json: toModel(models.find(id), library, isStranger) };
    },
  }),
  defineOperation({
    ...managed,
    route: "DELETE /v1/models/:id",
    operationId: "deleteModel",
    summary: "Delete a model",
    description:
      "Removes the files of a model that the node pulled, once its answers in progress are finished. A pulled file that is no model goes by the name that it would have. A model of the configuration, and a file that was put into the folder by hand, are not removed.",
    parameters: { id: "The model's name." },
    answer: described({ DeletedModel }, "It is gone.", {
      id: "Qwen2.5-1.5B-Instruct-GGUF-Q4_K_M",
      object: "model",
      deleted: true,
    }),
    errors: { ...modelErrors, 400: "The model is not the node's to remove, for the reason given." },
    handler: async ({ parameters: { id } }, _context, { models, library }: ModelNeeds) => {
      if (models.typeOf(id) === undefined) await library.refresh();
      await library.remove(id);
      return { json: { id, object: "model", deleted: true } satisfies DeletedModel };
    },
  }),
  defineOperation({
    ...managed,
    route: "POST /v1/models/load",
    operationId: "loadModel",
    summary: "Load a model into memory",
    description:
      "Answers when it is loaded. The least recently used ones are unloaded to make room.",
    body: ofModel,
    answer: described({ Model }, "The model.", modelExample),
    errors: modelErrors,
    handler: async ({ body: { model } }, { signal, isStranger }, needs: ModelNeeds) => {
      await needs.models.find(model).load?.(signal);
      return { json: toModel(needs.models.find(model), needs.library, isStranger) };
    },
  }),
  defineOperation({
    ...managed,
    route: "POST /v1/models/unload",
    operationId: "unloadModel",
    summary: "Unload a model from memory",
    description: "Its answers in progress are finished first. The next request loads it again.",
    body: ofModel,
    answer: described({ Model }, "The model.", { ...modelExample, loaded: false }),
    errors: {
      ...modelErrors,
      400: "The model cannot be unloaded: it runs upstream, or in the node's own process.",
    },
    handler: async ({ body: { model } }, { signal, isStranger }, needs: ModelNeeds) => {
      await unload(needs.models.find(model), signal);
      return { json: toModel(needs.models.find(model), needs.library, isStranger) };
    },
  }),
  defineOperation({
    ...managed,
    route: "POST /v1/models/pull",
    operationId: "pullModel",
    summary: "Pull a model",
    description:
      "Downloads a model into the models folder, from where it is served at once. One is pulled at a time. A pull ends when its client disconnects or it is cancelled; the next one of the same source goes on from there.",
    isLong: true,
    body: {
      ...namedSchema({ PullRequest }),
      example: { source: sourceExample },
      logged: ({ source }) => ({ source }),
    },
    answer: described({ PulledModel }, "It is there.", pulledExample),
    stream: described({ PullEvent }, "Progress, several times a second, and the end.", {
      ...{ status: "pulling", source: sourceExample, label: "Downloading the model" },
      ...{ completed: 104_857_600, total: 986_048_768 },
    }),
    errors: {
      ...modelErrors,
      400: "The source is not one that `[models_folder] pull_from` allows.",
      503: "Another model is being pulled, the source cannot be reached, or the disk is full.",
    },
    handler: async ({ body }, { signal }, { library }: ModelNeeds) => {
      const { source, stream = true, sha256 } = body;
      const pull = followPull(library, source, { signal, ...given({ sha256 }) });
      if (!stream) return { json: pulled(await pull.model) };
      return { events: pullEvents(pull) };
    },
  }),
  defineOperation({
    ...managed,
    route: "POST /v1/models/pull/cancel",
    operationId: "cancelPull",
    summary: "Cancel the pull in progress",
    answer: described({ CancelledPull }, "It is cancelled.", { cancelled: true }),
    handler: (_request, _context, { library }: ModelNeeds) => ({
      json: { cancelled: library.cancelPull() },
    }),
  }),
] as const;

const pulled = (model: string | undefined): PulledModel => ({
  status: "success",
  ...given({ model }),
});

async function* pullEvents(pull: ReturnType<typeof followPull>): AsyncGenerator<string> {
  for await (const state of pull.progress()) {
    yield JSON.stringify({ status: "pulling", ...state } satisfies PullEvent);
  }
  yield JSON.stringify(pulled(await pull.model));
}

function toModel(
  { card, residence, unload }: LoadedModel,
  library: Pick<ModelLibrary, "mayRemove">,
  isStranger: boolean,
): Model {
  const { name: id, createdAt, ownedBy, settings, type, weights } = card;
  const { state, bytes, lastUsedAt, unloadsAt, error } = residence?.() ?? { state: "loaded" };
  const { ctxSize } = settings;
  const own = given({
    memory_bytes: bytes,
    last_used: lastUsedAt && toSeconds(lastUsedAt),
    unloads_at: unloadsAt && toSeconds(unloadsAt),
    error: error && redactPaths(error),
  });
  return {
    ...{ id, created: toSeconds(createdAt), object: "model", owned_by: ownedBy },
    ...{ max_model_len: ctxSize, context_length: ctxSize, type },
    loaded: state === "loaded",
    ...(state === "loading" ? { loading: true } : {}),
    capabilities: capabilitiesOf(card),
    unloadable: unload !== undefined,
    removable: library.mayRemove(id),
    ...given({ size: weights?.bytes, quantization: weights?.quantization }),
    ...given({ parameters: weights?.parameters }),
    ...(isStranger ? {} : own),
  };
}
