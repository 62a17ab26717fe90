/** Texts a second of the embedding model, and questions to the handbook. */
import { type ChatServer, embeddingRate, post } from "../measuring/client.ts";
import { texts } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import { measured } from "../measuring/statistics.ts";
import { type Contenders, mapContenders, takeTurns } from "../measuring/turns.ts";
import type { Floor } from "../servers/floor-process.ts";
import { embeddingArguments, startPeers } from "../servers/llama-server.ts";
import { embeddingModel, startNode } from "../servers/node-process.ts";

interface Case {
  work: string;
  /** Words of a text, and how many texts. */
  length: number;
  count: number;
  perRequest: number;
  clients: number;
  target: string;
}

const cases: readonly Case[] = [
  {
    work: "8 words, 1 text a request",
    length: 8,
    count: 256,
    perRequest: 1,
    clients: 1,
    target: "1.0",
  },
  {
    work: "8 words, 32 texts a request",
    length: 8,
    count: 256,
    perRequest: 32,
    clients: 1,
    target: "1.0",
  },
  {
    work: "8 words, 8 clients with 1 text",
    length: 8,
    count: 512,
    perRequest: 1,
    clients: 8,
    target: "1.2",
  },
  {
    work: "100 words, 1 text a request",
    length: 100,
    count: 48,
    perRequest: 1,
    clients: 1,
    target: "1.0",
  },
  {
    work: "100 words, 32 texts a request",
    length: 100,
    count: 64,
    perRequest: 32,
    clients: 1,
    target: "1.0",
  },
];

type Rate = (texts: readonly string[], how: Case) => Promise<number>;

export interface EmbeddingBench {
  report: Report;
  runs: number;
  threads: number;
  path: string;
  floor?: Floor;
  /** The folder of llama-server, and what it is told beside the slots. */
  peer?: { folder: string; arguments: readonly (string | number)[] };
  /** Default: short and long texts, alone, together and of several clients. */
  cases?: readonly Case[];
  /** Of the node's model; default: none. */
  gpuLayers?: number;
  /** For the node's process. */
  environment?: Record<string, string>;
}

export async function embeddingRows(bench: EmbeddingBench): Promise<void> {
  const { report, runs, threads, path, floor } = bench;
  await floor?.ask({ kind: "load-embedding", path });
  await using node = await startNode(embeddingModel(path, bench.gpuLayers), bench.environment);
  await node.settled();
  await using stack = new AsyncDisposableStack();
  const peers =
    bench.peer === undefined
      ? undefined
      : stack.use(
          await startPeers({
            folder: bench.peer.folder,
            model: path,
            threads,
            arguments: [...embeddingArguments(4, 512), ...bench.peer.arguments],
          }),
        );
  const rateOf =
    (server: ChatServer): Rate =>
    (inputs, how) =>
      embeddingRate(server, inputs, how);
  const contenders: Contenders<Rate> = {
    ...mapContenders(
      { node: { baseUrl: node.baseUrl, model: "embedding" }, ...peers?.servers },
      rateOf,
    ),
    ...(floor && { floor: floorRate(floor) }),
  };
  for (const how of bench.cases ?? cases) {
    const prepare = () => texts(how.count, how.length);
    const measure = (rate: Rate, inputs: string[]) => rate(inputs, how);
    await takeTurns({ contenders, runs: 1, prepare, measure }); // warm
    const figures = await takeTurns({ contenders, runs, prepare, measure });
    const work = `Embeddings, ${how.work}`;
    report.compare({ work, unit: "texts/s", target: `≥ ${how.target}` }, figures);
  }
  if (floor === undefined) return;
  report.add({
    work: "/retrieve, from the handbook",
    unit: "ms",
    node: measured(await retrieveTimes(node.baseUrl, 20 * runs)),
  });
}

const floorRate =
  (floor: Floor): Rate =>
  async (inputs) => {
    const { tokens, ms } = await floor.ask({ kind: "embed", texts: [...inputs] });
    return (tokens / ms) * 1000;
  };

async function retrieveTimes(baseUrl: string, count: number): Promise<number[]> {
  const messages = [{ role: "user", content: "How do I add an API key?" }];
  const taken: number[] = [];
  for (let at = 0; at < count; at++) {
    const startedAt = performance.now();
    await (await post(`${baseUrl}/retrieve`, { model: "embedding", messages })).text();
    taken.push(performance.now() - startedAt);
  }
  return taken;
}
