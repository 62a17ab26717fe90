import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { RestartBackoff } from "../../../src/runner/runner-supervisor.ts";

const clock = spyOn(performance, "now");

afterEach(() => clock.mockReset());
afterAll(() => clock.mockRestore());

describe("the backoff of restarts", () => {
  test("starts at once after a first failure, then doubles up to 30 seconds", () => {
    const backoff = new RestartBackoff();
    const pauses = Array.from({ length: 9 }, () => backoff.failed());
    expect(pauses).toEqual([0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test("goes on where a process ends soon, and begins anew where it was up for long", () => {
    const backoff = new RestartBackoff();
    clock.mockReturnValue(0);
    backoff.started();
    clock.mockReturnValue(1000);
    expect([backoff.ended(), backoff.ended()]).toEqual([0, 500]);
    backoff.started();
    clock.mockReturnValue(20_000);
    expect(backoff.ended()).toBe(0);
  });

  test("begins anew after a reset", () => {
    const backoff = new RestartBackoff();
    backoff.failed();
    backoff.failed();
    backoff.reset();
    expect(backoff.failed()).toBe(0);
  });
});
