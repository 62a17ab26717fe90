import { expect, test } from "bun:test";
import { ModelActivity } from "../../../src/core/models/model-activity.ts";
import { createMetrics } from "../../../src/telemetry/metrics.ts";

test("a number that does not come is left out, and keeps nobody waiting for the others", async () => {
  const metrics = createMetrics({
    ...{ models: [], activities: () => [], isReady: async () => true },
    build: () => ({ version: "1.0.0", engine: "none" }),
    documentsQueued: () => new Promise(() => {}),
  });
  const text = await metrics.text();
  expect(text).toContain("paddock_ready 1");
  expect(text).not.toMatch(/^paddock_documents_queued/m);
});

test("all who ask while the numbers are gathered get the same, gathered once", async () => {
  let asked = 0;
  const metrics = createMetrics({
    ...{ models: [], activities: () => [], documentsQueued: async () => 0 },
    build: () => ({ version: "1.0.0", engine: "none" }),
    isReady: async () => {
      asked++;
      return true;
    },
  });
  const texts = await Promise.all(Array.from({ length: 100 }, () => metrics.text()));
  expect(new Set(texts).size).toBe(1);
  expect(asked).toBe(1);
  await metrics.text();
  expect(asked).toBe(2);
});

test("a model that was deleted while a call waited for it has no queue any more", async () => {
  const activity = new ModelActivity({ name: "pulled", slots: 4 });
  activity.waiting = 1;
  const activities = [activity];
  const metrics = createMetrics({
    ...{ models: [], activities: () => activities, documentsQueued: async () => 0 },
    ...{ build: () => ({ version: "1.0.0", engine: "none" }), isReady: async () => true },
  });
  expect(await metrics.text()).toContain('paddock_queue_length{model="pulled"} 1');
  activities.length = 0;
  expect(await metrics.text()).not.toContain("pulled");
});
