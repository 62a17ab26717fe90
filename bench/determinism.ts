/** `bun bench/determinism.ts`: how often a seeded answer is the same alone, from the cache, and beside others. */
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { servePaddock } from "../tests/support/paddock-process.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { benchModels } from "./bench-models.ts";
import { post } from "./client.ts";

const rounds = 6;
const models = await benchModels(availableParallelism());

for (const [name, path] of Object.entries({ starter: models.starter, small: models.small })) {
  await using folder = await tempDir();
  const config = `[[models]]\nname = "m"\ntype = "chat"\nsource = ${JSON.stringify(path)}\nquantization = "as-is"\nctx_size = 1024\n`;
  await writeFile(join(folder.path, "paddock.toml"), config);
  await using node = await servePaddock({ cwd: folder.path });
  const ask = async (content: string, seed: number, tokens: number): Promise<string> => {
    const messages = [{ role: "user", content }];
    const body = { model: "m", messages, seed, max_tokens: tokens, temperature: 0.8 };
    const response = await post(`${node.origin}/v1/chat/completions`, body);
    return JSON.stringify(JSON.parse(await response.text()).choices);
  };
  const question = "Tell me a short story about a llama and a horse.";
  const first = await ask(question, 42, 40);
  const same = async (answers: Promise<string>[]): Promise<string> => {
    const got = await Promise.all(answers);
    return `${got.filter((answer) => answer === first).length} of ${got.length}`;
  };
  const one = async (): Promise<string[]> => {
    const answers: string[] = [];
    for (let round = 0; round < rounds; round++) answers.push(await ask(question, 42, 40));
    return answers;
  };
  const alone = (await one()).map((answer) => Promise.resolve(answer));
  const beside: Promise<string>[] = [];
  for (let round = 0; round < rounds; round++) {
    const others = [1, 2, 3].map((other) =>
      ask(`${round} ${other}: count to a hundred.`, other, 40),
    );
    const answer = ask(question, 42, 40);
    await Promise.all([...others, answer]);
    beside.push(answer);
  }
  console.log(
    `${name}: again, alone ${await same(alone)}; beside three others ${await same(beside)}`,
  );
}
