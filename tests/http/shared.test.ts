import { describe, expect, test } from "bun:test";
import type { SharedReport } from "../../src/core/readiness.ts";
import { testApp } from "../support/test-app.ts";

function app(report: (who: { isStranger: boolean }) => SharedReport) {
  const numbers = () => ({ isUp: false, losses: 2, decidedAlone: 30 });
  return testApp({ shared: { numbers, report } });
}

describe("a node whose shared server is away", () => {
  test("is ready with a note where it goes on without it", async () => {
    const response = await app(() => ({ note: "Redis is away." })).get("/ready");
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: "ready", reasons: ["Redis is away."] },
    ]);
  });

  test("is not ready where it refuses requests without it", async () => {
    const response = await app(() => ({ problem: "Redis is away." })).get("/ready");
    expect([response.status, await response.json()]).toEqual([
      503,
      { status: "not ready", reasons: ["Redis is away."] },
    ]);
  });

  test("counts it in its metrics, which a node alone does not have", async () => {
    const text = await (await app(() => ({})).get("/metrics")).text();
    for (const line of ["up 0", "losses_total 2", "decided_alone_total 30"]) {
      expect(text).toContain(`\npaddock_shared_${line}\n`);
    }
    expect(await (await testApp().get("/metrics")).text()).not.toContain("paddock_shared");
  });
});
