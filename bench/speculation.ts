/** `bun bench/speculation.ts`: what prompt-lookup speculation gives on the starter model, for an answer that quotes its prompt and for one that does not. */
import { availableParallelism } from "node:os";
import {
  type ChatHistoryItem,
  getLlama,
  InputLookupTokenPredictor,
  LlamaLogLevel,
  resolveChatWrapper,
} from "node-llama-cpp";
import { benchModels } from "./bench-models.ts";
import { measured } from "./statistics.ts";

const runs = 3;
const tokens = 64;
const passage =
  "The node keeps a collection of passages with their vectors. Markdown and plain text files are cut along headings and paragraphs into passages that fit the embedding model, embedded, and stored. A file that is ingested again replaces its earlier passages.";
const prompts = {
  "an answer that quotes its prompt": `Repeat this text word for word: "${passage}"`,
  "an answer that does not": "Write a short story about a llama who wants to see the ocean.",
};

const threads = availableParallelism();
const { starter } = await benchModels(threads);
const llama = await getLlama({
  build: "never",
  gpu: false,
  maxThreads: threads,
  logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath: starter });
const context = await model.createContext({ sequences: 2, contextSize: 1024, threads });
const predictor = new InputLookupTokenPredictor();
const plain = context.getSequence();
const speculating = context.getSequence({ tokenPredictor: predictor });
const wrapper = resolveChatWrapper(model, { warningLogs: false });

/** Tokens a second after the first. */
async function speed(sequence: typeof plain, text: string): Promise<number> {
  const chatHistory: ChatHistoryItem[] = [
    { type: "user", text },
    { type: "model", response: [] },
  ];
  const prompt = wrapper
    .generateContextState({ chatHistory })
    .contextText.tokenize(model.tokenizer);
  if (sequence === speculating) predictor.updateInputTokens(prompt);
  await sequence.clearHistory();
  let startedAt = 0;
  let made = 0;
  for await (const _ of sequence.evaluate(prompt, { temperature: 0, topK: 0, topP: 1 })) {
    if (made++ === 0) startedAt = performance.now();
    if (made > tokens) break;
  }
  return ((made - 1) / (performance.now() - startedAt)) * 1000;
}

for (const [name, text] of Object.entries(prompts)) {
  const ratios: number[] = [];
  for (let run = 0; run < runs; run++) {
    const without = await speed(plain, text);
    ratios.push((await speed(speculating, text)) / without);
  }
  const { median, low, high } = measured(ratios);
  const range = `${low.toFixed(2)}–${high.toFixed(2)}`;
  console.log(`${name}: ${median.toFixed(2)} times as fast with speculation (${range})`);
}
await llama.dispose();
