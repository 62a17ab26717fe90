import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../../src/config/load.ts";
import type { ReplicaEvent, ReplicaStatus } from "../../../../src/core/ports/telemetry.ts";
import { UpstreamModels } from "../../../../src/node/gateway/upstream-models.ts";
import { silentLog } from "../../../support/silence.ts";

function upstreamModels(text: string) {
  const events: [string, ReplicaEvent][] = [];
  const watched = new Map<string, () => readonly ReplicaStatus[]>();
  const models = new UpstreamModels({
    config: config(text),
    telemetry: {
      happened: (model, event) => void events.push([model, event]),
      watch(model, status) {
        watched.set(model, status);
        return { [Symbol.dispose]: () => void watched.delete(model) };
      },
    },
    log: silentLog,
  });
  return { models, events, watched };
}

const config = (models: string) =>
  loadConfig({
    file: {
      path: "paddock.toml",
      text: `${models}\n[[models]]\nname = "near"\ntype = "chat"\nsource = "a.gguf"\n`,
    },
    env: {},
    flags: {},
  });

const far = (url: string): string =>
  `[[models]]\nname = "far"\ntype = "chat"\nsource = "openai:${url}"\n`;
const reranker = (url: string): string => `[retrieval]\nreranker = "openai:${url}"\n`;
const up = (url: string): ReplicaStatus => ({ url, state: "up", inFlight: 0 });

describe("the replicas of a node's models", () => {
  test("change with the configuration, and tell so", async () => {
    const { models, events, watched } = upstreamModels(far("http://a"));
    await using _ = models;
    models.apply(config(far("http://b")));
    expect(
      watched
        .get("far")?.()
        .map(({ url }) => url),
    ).toEqual(["http://b"]);
    expect(events).toEqual([["far", { type: "removed", url: "http://a" }]]);
  });

  test("include the reranker's", async () => {
    const { models, watched } = upstreamModels(reranker("http://a"));
    await using _ = models;
    models.apply(config(reranker("http://b")));
    expect(
      watched
        .get("reranker")?.()
        .map(({ url }) => url),
    ).toEqual(["http://b"]);
  });

  test("are watched until the node ends", async () => {
    const { models, watched } = upstreamModels(far("http://a"));
    expect(watched.get("far")?.()).toEqual([up("http://a")]);
    await models[Symbol.asyncDispose]();
    expect(watched.size).toBe(0);
  });
});
