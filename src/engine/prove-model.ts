/** Computes once when a model is loaded, and compares llama.cpp's C interface with node-llama-cpp. */
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import { reasonOf } from "../core/errors.ts";
import { notFinite } from "../core/models/engine-backends.ts";
import type { Backend } from "./load-backend.ts";
import { StepThreads } from "./machine/steps.ts";
import { NativeChatContext } from "./native/contexts.ts";
import { DirectContext } from "./native/direct-context.ts";
import type { TextContext } from "./native/text-context.ts";

/** On an accelerator a prompt is computed by other kernels than the one token after it; on a CPU it costs time. */
const promptTokens = { accelerator: 16, cpu: 2 };
export const trialText = "Hello, world";

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
  const sampler = native.makeSampler();
  sampler.configure({ temperature: 0, seed: 0 });
  const step = async (by: NativeChatContext, tokens: readonly Token[], position: number) => {
    // Timed, so that the first prompt does not count as hung on a slow machine.
    const { outputs } = await steps.run(tokens.length, () =>
      by.decode([{ sequence: 0, position, tokens, output: true }]),
    );
    const [part] = outputs;
    by.releaseThreads();
    if (part?.output === undefined) throw new Error("nothing was computed");
    const { token, logit, weight } = await sampler.sampleWithLogits(part.output, 1);
    checkFinite([logit, weight]);
    return { token, output: part.output };
  };
  try {
    const first = await step(native, prompt, 0);
    const direct = openDirect(backend, context, model, first);
    if (direct === undefined) {
      await step(native, [first.token], prompt.length);
      return undefined;
    }
    try {
      const by = new NativeChatContext(context, model, { stepThreads, direct });
      const second = await step(by, [first.token], prompt.length);
      checkAlike(direct, second);
      return direct;
    } catch (error) {
      backend.declineC(reasonOf(error));
      native.truncate(0, 0);
      // The context pauses the threads of its last step when it is computed without them, so they end after that.
      using _ = direct;
      await step(native, prompt, 0);
      return undefined;
    }
  } finally {
    sampler.dispose();
    native.truncate(0, 0);
  }
}

interface TrialOutput {
  token: Token;
  output: number;
}

function openDirect(
  backend: Backend,
  context: LlamaContext,
  model: LlamaModel,
  first: TrialOutput,
): DirectContext | undefined {
  const { c, servesModelsAlone: mayWait } = backend;
  if (c === undefined) return undefined;
  let direct: DirectContext | undefined;
  try {
    direct = new DirectContext(c, context, model, { mayWait });
    checkAlike(direct, first);
    return direct;
  } catch (error) {
    direct?.[Symbol.dispose]();
    backend.declineC(reasonOf(error));
    return undefined;
  }
}

/** Both sample from the same output. */
function checkAlike(direct: DirectContext, { token, output }: TrialOutput): void {
  if (direct.likeliest(output) !== token) throw new Error("it does not agree with node-llama-cpp");
}

/** A text and its vector, to compare other contexts with. */
export interface TextProof {
  tokens: readonly Token[];
  vector: Float32Array;
}

/** `tokens`: those of `trialText`, as the model wants them. */
export async function proveTexts(
  context: TextContext,
  tokens: readonly Token[],
  { threads, steps }: Pick<Backend, "threads" | "steps">,
): Promise<TextProof> {
  const { vectors } = await steps.run(tokens.length, () => context.compute([tokens], threads));
  const [vector = new Float32Array()] = vectors;
  checkFinite(vector);
  return { tokens, vector };
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
