/** The floor: what node-llama-cpp gives in a bare loop on the same weights, threads and batch. A process of its own, driven over IPC. */
import {
  type ChatHistoryItem,
  getLlama,
  type LlamaContextSequence,
  LlamaLogLevel,
  type LlamaModel,
  resolveChatWrapper,
  type Token,
} from "node-llama-cpp";

export type FloorRequest =
  | { kind: "load-chat"; path: string; contextSize: number; sequences: number; threads: number }
  | { kind: "load-embedding"; path: string }
  | { kind: "chat"; clients: number; tokens: number; prompts: string[] }
  | { kind: "embed"; texts: string[] };

export type FloorAnswer = { tokens: number; ms: number };

const threads = Number(process.argv[2] ?? 2);
const llama = await getLlama({
  build: "never",
  gpu: false,
  maxThreads: threads,
  logLevel: LlamaLogLevel.error,
});
let chat: { model: LlamaModel; sequences: LlamaContextSequence[] } | undefined;
let pool: Awaited<ReturnType<LlamaModel["createEmbeddingContext"]>>[] = [];

process.on("message", async (request: FloorRequest) => {
  process.send?.(await answer(request));
});
process.send?.({ tokens: 0, ms: 0 } satisfies FloorAnswer);

async function answer(request: FloorRequest): Promise<FloorAnswer> {
  switch (request.kind) {
    case "load-chat": {
      await chat?.model.dispose();
      const model = await llama.loadModel({ modelPath: request.path });
      const context = await model.createContext({
        sequences: request.sequences,
        contextSize: request.contextSize,
        batchSize: 512,
        threads: request.threads,
      });
      const sequences = Array.from({ length: request.sequences }, () => context.getSequence());
      chat = { model, sequences };
      return { tokens: 0, ms: 0 };
    }
    case "load-embedding": {
      const model = await llama.loadModel({ modelPath: request.path });
      pool = await Promise.all(
        Array.from({ length: threads }, () =>
          model.createEmbeddingContext({ contextSize: 513, batchSize: 513, threads: 1 }),
        ),
      );
      return { tokens: 0, ms: 0 };
    }
    case "chat":
      return await generate(request);
    case "embed":
      return await embed(request.texts);
  }
}

/** As many loops as there are sequences; each takes the next prompt until all are done. */
async function generate({
  tokens,
  prompts,
}: Extract<FloorRequest, { kind: "chat" }>): Promise<FloorAnswer> {
  if (chat === undefined) throw new Error("no chat model is loaded");
  const { model, sequences } = chat;
  const waiting = prompts.map((prompt) => render(model, prompt));
  for (const sequence of sequences) await sequence.clearHistory();
  const startedAt = performance.now();
  let made = 0;
  await Promise.all(
    sequences.map(async (sequence) => {
      for (let prompt = waiting.shift(); prompt !== undefined; prompt = waiting.shift()) {
        await sequence.clearHistory();
        let count = 0;
        const options = { temperature: 0, topK: 0, topP: 1 };
        for await (const _ of sequence.evaluate(prompt, options)) {
          made++;
          if (++count >= tokens) break;
        }
      }
    }),
  );
  return { tokens: made, ms: performance.now() - startedAt };
}

/** The tokens that the node makes of the same message. */
function render(model: LlamaModel, text: string): Token[] {
  const chatHistory: ChatHistoryItem[] = [
    { type: "user", text },
    { type: "model", response: [] },
  ];
  const { contextText } = resolveChatWrapper(model, {
    warningLogs: false,
  }).generateContextState({ chatHistory });
  const tokens = contextText.tokenize(model.tokenizer);
  const { bos, shouldPrependBosToken } = model.tokens;
  return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens;
}

async function embed(texts: readonly string[]): Promise<FloorAnswer> {
  const waiting = [...texts];
  const startedAt = performance.now();
  await Promise.all(
    pool.map(async (context) => {
      for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
        await context.getEmbeddingFor(text);
      }
    }),
  );
  return { tokens: texts.length, ms: performance.now() - startedAt };
}
