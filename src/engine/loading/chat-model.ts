/** Weights as a chat model: its threads, its context, its template and a first token. */
import type { LlamaModel } from "node-llama-cpp";
import type { LoadStage } from "../../core/models/engine-backends.ts";
import type { LoadedModel, ModelSettings } from "../../core/models/model.ts";
import type { Backend } from "../backend.ts";
import { LlamaChatEngine } from "../chat-engine.ts";
import { card, contextSize, type FittedSpec, fingerprintOf } from "../fitted-model.ts";
import { StepThreads } from "../machine/step-threads.ts";
import { NativeChatContext } from "../native/chat-context.ts";
import { chatWrapperFor } from "../prompt/chat-wrappers.ts";
import { PromptTemplate } from "../prompt/prompt-template.ts";
import { proveChat } from "../prove-model.ts";

export async function asChat(
  backend: Backend,
  model: LlamaModel,
  spec: FittedSpec,
  createdAt: Date,
  onStage: (stage: LoadStage) => void,
): Promise<LoadedModel> {
  if (model.fileInfo.architectureMetadata.attention?.causal === false) {
    throw new Error('it is an embedding model; configure it with type = "embedding"');
  }
  const say = (count: number, why: string): void =>
    backend.log.info("threads of a chat model", { model: spec.name, threads: count, why });
  const options = { size: model.size, budget: backend.threads };
  const threads = new StepThreads({ ...options, onChange: say });
  say(threads.start.threads, threads.start.why);
  const context = await model.createContext({
    sequences: spec.parallel,
    contextSize: contextSize(model, spec),
    batchSize: spec.settings.batchSize,
    threads: backend.threads,
  });
  onStage("trial");
  await proveChat(new NativeChatContext(context, model, new StepThreads(options)), model, backend);
  onStage("model");
  const template = new PromptTemplate(model, chatWrapperFor(spec.settings.promptTemplate, model));
  const settings: ModelSettings = {
    ...spec.settings,
    ctxSize: context.contextSize,
    batchSize: context.batchSize,
    nGpuLayers: model.gpuLayers,
  };
  const engine = new LlamaChatEngine(model, context, template, {
    maxQueue: spec.maxQueue,
    threads,
    steps: backend.steps,
  });
  return {
    type: "chat",
    card: card(model, spec, settings, createdAt),
    engine,
    fingerprint: await fingerprintOf(backend, spec, settings, template.name),
    async [Symbol.asyncDispose]() {
      await engine.close();
      await model.dispose();
    },
  };
}
