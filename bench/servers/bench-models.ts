/** The models that the benchmark runs on; made once, stored in the cache of the benchmarks. */
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { quantizeModel } from "../../src/engine/quantization/quantize-model.ts";
import { writeAtomically } from "../../src/models/files.ts";
import { writeGguf } from "../../src/models/gguf/write.ts";
import { prepareStarterChat, prepareStarterEmbedding } from "../../src/models/sources/starter.ts";
import { engineEnvironment } from "../../src/subprocess/program.ts";
import { randomLlama, randomNumbers } from "../../tests/support/random-llama.ts";
import { silentProgress } from "../../tests/support/silence.ts";
import { cacheFolder } from "./cache-folder.ts";

export interface BenchModels {
  /** The starter chat model, in the form that a node runs it. */
  starter: string;
  /** About 25 million parameters: nearly all of its time is overhead. */
  small: string;
  embedding: string;
}

const program = [process.execPath, join(import.meta.dir, "..", "..", "src", "main.ts")];

export async function benchModels(threads: number): Promise<BenchModels> {
  const folder = cacheFolder;
  await mkdir(folder, { recursive: true });
  const small = join(folder, "small-25m.q8_0.gguf");
  if (!(await stat(small).catch(() => undefined))) {
    const words = makeWords(wordsOf32k);
    const shape = { size: 288, hidden: 768, layers: 6, heads: 6, context: 2048, words } as const;
    const gguf = randomLlama({ name: "small-25m", type: "q8_0", ...shape });
    await writeAtomically(small, (file) => writeGguf(file, gguf));
  }
  const log = {
    debug: () => {},
    info: () => {},
    error: console.error,
    warn: (message: string, fields = {}) => console.error(message, fields),
  };
  const options = { folder, progress: silentProgress, signal: new AbortController().signal };
  return {
    small,
    embedding: await prepareStarterEmbedding(options),
    starter: await quantizeModel(await prepareStarterChat(options), {
      ...options,
      type: "q8_0",
      threads,
      program: { command: program, env: engineEnvironment(process.env) },
      log,
    }),
  };
}

/** With the specials, the bytes and the characters they make a vocabulary of 32,000. */
export const wordsOf32k = 31_647;

/** Unlike words of two to four syllables, each with a leading space. */
export function makeWords(count: number): string[] {
  const random = randomNumbers(3);
  const pick = (from: string): string => from.charAt(Math.floor(random() * from.length));
  const words = new Set<string>();
  while (words.size < count) {
    const syllables = 2 + Math.floor(random() * 3);
    const word = Array.from({ length: syllables }, () => pick("bdfgklmnprstvz") + pick("aeiou"));
    words.add(`\u2581${word.join("")}`);
  }
  return [...words];
}
