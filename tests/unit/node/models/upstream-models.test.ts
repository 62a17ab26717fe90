import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../../src/config/load.ts";
import type { ReplicaEvent, ReplicaStatus } from "../../../../src/core/ports/replica-telemetry.ts";
import { ModelReplicas } from "../../../../src/node/models/upstream-models.ts";
import { silentLog } from "../../../support/silence.ts";

const opened = { named: "the model", probe: async () => {} };

function registry() {
  const events: [string, ReplicaEvent][] = [];
  const watched = new Map<string, () => readonly ReplicaStatus[]>();
  const replicas = new ModelReplicas({
    telemetry: {
      happened: (model, event) => void events.push([model, event]),
      watch(model, status) {
        watched.set(model, status);
        return { [Symbol.dispose]: () => void watched.delete(model) };
      },
    },
    log: silentLog,
  });
  return { replicas, events, watched };
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

describe("the replicas of a node's models", () => {
  test("change with the configuration, and tell so", () => {
    const { replicas, events } = registry();
    const set = replicas.open({ ...opened, name: "far", urls: ["http://a"] });
    replicas.apply(config(far("http://b")));
    expect(set.all()).toEqual([{ url: "http://b" }]);
    expect(events).toEqual([["far", { type: "removed", url: "http://a" }]]);
  });

  test("are opened where a configuration says that was read before", () => {
    const { replicas } = registry();
    replicas.apply(config(far("http://b")));
    expect(replicas.open({ ...opened, name: "far", urls: ["http://a"] }).all()).toEqual([
      { url: "http://b" },
    ]);
  });

  test("include the reranker's", () => {
    const { replicas } = registry();
    const set = replicas.open({ ...opened, name: "reranker", urls: ["http://a"] });
    replicas.apply(config('[retrieval]\nreranker = "openai:http://b"\n'));
    expect(set.all()).toEqual([{ url: "http://b" }]);
  });

  test("are watched until the node ends", () => {
    const { replicas, watched } = registry();
    replicas.open({ ...opened, name: "far", urls: ["http://a"] });
    expect(watched.get("far")?.()).toEqual([{ url: "http://a", state: "up", inFlight: 0 }]);
    replicas[Symbol.dispose]();
    expect(watched.size).toBe(0);
  });
});
