/** Computes once when a model is loaded, and compares llama.cpp's C interface with node-llama-cpp. */
import { basename } from "node:path";
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import { reasonOf } from "../core/errors.ts";
import { notFinite } from "../core/models/engine-backends.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Backend } from "./load-backend.ts";
import { StepThreads } from "./machine/steps.ts";
import { NativeChatContext, type NativeEmbeddingContext } from "./native/contexts.ts";
import { DirectContext } from "./native/direct-context.ts";

/** On an accelerator a prompt is computed by other kernels than the one token after it; on a CPU it costs time. */
const promptTokens = { accelerator: 16, cpu: 2 };
const trialText = "Hello, world";

/** Computes once at load: a library that does not fit its driver fails at the first computation. */
export async function proveChat(
  context: LlamaContext,
  model: LlamaModel,
  backend: Backend,
): Promise<DirectContext | undefined> {
  const { name, steps, threads } = backend;
  const stepThreads = new StepThreads({ size: model.size, budget: threads });
  const native = new NativeChatContext(context, model, { stepThreads });
  const wanted = name === "cpu" ? promptTokens.cpu : promptTokens.accelerator;
  const prompt = promptOf(model, Math.min(wanted, native.batchSize, native.contextSize - 1));
  const direct = openDirect(backend, context, model);
  const sampler = native.makeSampler();
  try {
    sampler.configure({ temperature: 0, seed: 0 });
    let tokens: readonly Token[] = prompt;
    let isAlike = true;
    for (const position of [0, prompt.length]) {
      // The first step is node-llama-cpp's own, the second one the C interface's.
      const by =
        position === 0 ? native : new NativeChatContext(context, model, { stepThreads, direct });
      // Timed, so that the first prompt does not count as hung on a slow machine.
      const [part] = await steps.run(tokens.length, () =>
        by.decode([{ sequence: 0, position, tokens, output: true }]),
      );
      by.releaseThreads();
      if (part?.output === undefined) throw new Error("nothing was computed");
      const { token, logit, weight } = await sampler.sampleWithLogits(part.output, 1);
      checkFinite([logit, weight]);
      isAlike &&= direct === undefined || direct.likeliest(part.output) === token;
      tokens = [token];
    }
    if (isAlike) return direct;
    backend.log.warn("llama.cpp's C interface is not used: it does not agree with node-llama-cpp", {
      model: basename(model.filename ?? ""),
    });
    direct?.[Symbol.dispose]();
    return undefined;
  } finally {
    sampler.dispose();
    native.truncate(0, 0);
  }
}

function openDirect(
  { c, threads, servesModelsAlone: mayWait, log }: Backend,
  context: LlamaContext,
  model: LlamaModel,
): DirectContext | undefined {
  try {
    return c && new DirectContext(c, context, model, { threads, mayWait });
  } catch (error) {
    log.warn("llama.cpp's C interface is not used", { reason: reasonOf(error) });
    return undefined;
  }
}

/** A text and its vector, to compare other contexts with. */
export interface EmbeddingProof {
  tokens: readonly Token[];
  vector: Float32Array;
}

export async function proveEmbedding(
  context: NativeEmbeddingContext,
  model: LlamaModel,
  { threads, steps }: Pick<Backend, "threads" | "steps">,
): Promise<EmbeddingProof> {
  const tokens = context.withMarkers(model.tokenize(trialText));
  const { vectors } = await steps.run(tokens.length, () => context.embed([tokens], threads));
  const [vector = new Float32Array()] = vectors;
  checkFinite(vector);
  return { tokens, vector };
}

export async function proveReranker(reranker: Reranker): Promise<void> {
  const { signal } = new AbortController();
  const { scores } = await reranker.rank(trialText, [trialText], { signal, cutsQuestion: true });
  checkFinite(scores);
}

function promptOf(model: LlamaModel, length: number): Token[] {
  const tokens = model.tokenize(trialText);
  const [first] = tokens.length > 0 ? tokens : model.iterateAllTokens();
  if (first === undefined) throw new Error("it has no tokens");
  return Array.from(
    { length: Math.max(1, length) },
    (_, at) => tokens[at % tokens.length] ?? first,
  );
}

function checkFinite(numbers: Iterable<number>): void {
  for (const number of numbers) {
    if (!Number.isFinite(number)) throw new Error(notFinite);
  }
}
