/** What the node costs beside the models: requests that need none, and memory. */
import { memoryOf } from "../../tests/support/process-tree.ts";
import { type ChatServer, chatRate, embeddingRate } from "../measuring/client.ts";
import { stories, texts } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import { measured } from "../measuring/statistics.ts";
import type { BenchModels } from "../servers/bench-models.ts";
import { chatModel, embeddingModel, startNode } from "../servers/node-process.ts";

export async function overheadRows(
  report: Report,
  runs: number,
  { small, embedding }: BenchModels,
): Promise<void> {
  const config = chatModel(small, { contextSize: 2048, slots: 4 }) + embeddingModel(embedding);
  await using node = await startNode(config);
  const rates: number[] = [];
  for (let run = 0; run < runs; run++) rates.push(await modelListRate(node.baseUrl));
  report.add({ work: "/models, 8 clients", unit: "requests/s", node: measured(rates) });

  const server: ChatServer = { baseUrl: node.baseUrl, model: "chat" };
  const embedder: ChatServer = { baseUrl: node.baseUrl, model: "embedding" };
  const memory = async (): Promise<number> => (await memoryOf(node.pid)) / 1e6;
  const rest = await memory();
  const work = async (chats: number, inputs: number): Promise<number> => {
    for (let done = 0; done < chats; done += 4) await chatRate(server, stories(4), 8);
    await embeddingRate(embedder, texts(inputs, 8), { perRequest: 32, clients: 1 });
    return await memory();
  };
  const early = await work(100, 1000);
  const late = await work(900, 9000);
  report.add({
    work: "Memory at rest, 25M model and MiniLM",
    unit: "MB",
    node: measured([rest]),
  });
  report.add({
    work: "Memory after 1,000 chats and 10,000 embeddings",
    unit: "MB",
    node: measured([late]),
    ratio: measured([late / early]),
    target: "≤ 1.10 of after 100 and 1,000",
  });
}

async function modelListRate(baseUrl: string): Promise<number> {
  const [clients, requests] = [8, 250];
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let at = 0; at < requests; at++) await (await fetch(`${baseUrl}/models`)).text();
    }),
  );
  return (clients * requests) / ((performance.now() - startedAt) / 1000);
}
