/** The context of an embedding server, which may be another one when it is started again. */
import { expect, test } from "bun:test";
import { upstreamEmbeddingEngine } from "../../../../src/gateway/upstream/embedding-engine.ts";
import { fakeClock } from "../../../support/fake-clock.ts";
import { recordedTei } from "../../../support/recorded-tei.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { openFarEmbedding, targetAt } from "../../../support/upstream.ts";

const { signal } = new AbortController();
const long = "llama ".repeat(300).trim();
const tooLong = { kind: "context_length_exceeded" };

test("is asked for again when it refuses a text", async () => {
  let limit = 512;
  await using server = recordedTei({ limit: () => limit });
  const { target } = targetAt(`${server.url}/v1`);
  await using model = await openFarEmbedding(target);
  const { engine } = model;
  const seen = [engine.maxTokens];
  for (limit of [100, 200]) {
    expect(await rejectionOf(engine.embed([long], { signal }))).toMatchObject(tooLong);
    seen.push(engine.maxTokens);
  }
  expect(seen).toEqual([512, 100, 200]);
});

test("is asked for again after a while in which it was smaller", async () => {
  await using server = recordedTei({ limit: () => 100 });
  const clock = fakeClock();
  let limit = 100;
  const engine = upstreamEmbeddingEngine(targetAt(`${server.url}/v1`).target, {
    ...{ dimension: 2, maxTokens: 512, vocabularySize: 100, maxBatch: 4, clock },
    askMaxTokens: async () => limit,
  });
  expect(await rejectionOf(engine.embed([long], { signal }))).toMatchObject(tooLong);
  limit = 1000;
  await engine.countTokens(["llama"]);
  const before = engine.maxTokens;
  await clock.pass(60_001);
  await engine.countTokens(["llama"]);
  expect([before, engine.maxTokens]).toEqual([100, 512]);
});
