/** The trial of a model that was just loaded: a library that does not suit its driver fails at the first computation. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { notFinite } from "../core/models/engine-backends.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { Backend } from "./backend.ts";
import type { NativeChatContext, NativeEmbeddingContext } from "./native/contexts.ts";

/** On an accelerator a prompt is computed by other kernels than the one token after it; on a CPU it costs time. */
const promptTokens = { accelerator: 16, cpu: 2 };
const text = "Hello, world";

/** Evaluates a prompt and generates a token; nothing of it stays in the context. */
export async function proveChat(
  native: NativeChatContext,
  model: LlamaModel,
  { name, steps }: Pick<Backend, "name" | "steps">,
): Promise<void> {
  const wanted = name === "cpu" ? promptTokens.cpu : promptTokens.accelerator;
  const prompt = promptOf(model, Math.min(wanted, native.batchSize, native.contextSize - 1));
  const sampler = native.makeSampler();
  try {
    sampler.configure({ temperature: 0, seed: 0 });
    let tokens: readonly Token[] = prompt;
    for (const position of [0, prompt.length]) {
      // Timed, so that the first prompt is not taken for a hang on a slow machine.
      const [output] = await steps.run(tokens.length, () =>
        native.decode([{ sequence: 0, position, tokens, output: true }]),
      );
      if (output === undefined) throw new Error("nothing was computed");
      const { token, logit, weight } = await sampler.sampleWithLogits(output, 1);
      checkFinite([logit, weight]);
      tokens = [token];
    }
  } finally {
    sampler.dispose();
    native.truncate(0, 0);
    native.releaseThreads();
  }
}

export async function proveEmbedding(
  context: NativeEmbeddingContext,
  model: LlamaModel,
  { threads, steps }: Pick<Backend, "threads" | "steps">,
): Promise<void> {
  const tokens = context.withMarkers(model.tokenize(text));
  const { vector } = await steps.run(tokens.length, () => context.embed(tokens, threads));
  checkFinite(vector);
}

export async function proveReranker(reranker: Reranker): Promise<void> {
  const { signal } = new AbortController();
  const { scores } = await reranker.rank(text, [text], { signal, cutsQuestion: true });
  checkFinite(scores);
}

function promptOf(model: LlamaModel, length: number): Token[] {
  const tokens = model.tokenize(text);
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
