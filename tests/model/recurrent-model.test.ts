import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ChatModel } from "../../src/core/models/model.ts";
import type {
  ChatMessage,
  GenerationRequest,
  TokenUsage,
} from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { randomMamba } from "../support/random-mamba.ts";
import { tempDir } from "../support/temp-dir.ts";
import { neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";
import { save } from "../support/tiny-models.ts";

let folder: Awaited<ReturnType<typeof tempDir>>;
let path: string;
const load = (): Promise<ChatModel> =>
  tinyChatModel({
    path,
    parallel: 2,
    settings: { ...neutralSettings, ctxSize: 1024 },
  });

beforeAll(async () => {
  folder = await tempDir();
  path = join(folder.path, "recurrent.gguf");
  await save(path, randomMamba());
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

const user = (content: string): ChatMessage => ({ role: "user", content });

async function run(
  { engine }: ChatModel,
  messages: ChatMessage[],
  more: Partial<GenerationRequest> = {},
): Promise<{ text: string; usage: TokenUsage }> {
  const { signal } = new AbortController();
  const request = { messages, maxTokens: 12, sampling: greedy, ...more };
  const events = await Array.fromAsync(engine.generate(request, { signal }));
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("no finish");
  const text = events
    .map((event) => ("text" in event && event.type !== "reasoning" ? event.text : ""))
    .join("");
  return { text, usage: last.usage };
}

describe("a recurrent model, whose memory cannot be cut at a token", () => {
  const first = [user(`A conversation ${"c".repeat(80)}`)];
  const turn = (answer: string): ChatMessage[] => [
    ...first,
    { role: "assistant", content: answer },
    user("And more?"),
  ];

  test("goes on with a conversation from the state that its prompt left", async () => {
    await using warm = await load();
    const one = await run(warm, first);
    // The answer is another one than was written, so the state behind the prompt is of no use.
    const two = await run(warm, turn("something else"));
    expect(two.usage.cachedTokens).toBe(one.usage.promptTokens - 1);
    await using cold = await load();
    expect((await run(cold, turn("something else"))).text).toBe(two.text);
  });

  test("answers the same prompt again from the state before its last token", async () => {
    await using model = await load();
    const one = await run(model, first);
    const again = await run(model, first);
    expect(again.usage.cachedTokens).toBe(one.usage.promptTokens - 1);
    expect(again.text).toBe(one.text);
  });

  test("evaluates again what no stored state fits", async () => {
    await using warm = await load();
    await run(warm, first);
    const shorter = [user(`A conversation ${"c".repeat(40)}`)];
    const again = await run(warm, shorter);
    expect(again.usage.cachedTokens).toBe(0);
    await using cold = await load();
    expect((await run(cold, shorter)).text).toBe(again.text);
  });

  test("gives callers beside each other the answers they get alone", async () => {
    await using model = await load();
    const questions = ["one", "two", "three"].map((content) => [user(content)]);
    const alone: string[] = [];
    for (const messages of questions) alone.push((await run(model, messages)).text);
    const together = await Promise.all(questions.map((messages) => run(model, messages)));
    expect(together.map(({ text }) => text)).toEqual(alone);
  });
});
