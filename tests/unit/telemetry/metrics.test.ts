import { expect, test } from "bun:test";
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
