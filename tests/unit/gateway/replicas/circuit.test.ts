import { describe, expect, test } from "bun:test";
import { Circuit, defaultBackoff } from "../../../../src/gateway/replicas/replica-circuit.ts";
import { fakeClock } from "../../../support/fake-clock.ts";

function circuit({ random = 1, state = "up" as "up" | "trial" } = {}) {
  const clock = fakeClock();
  const made = new Circuit({
    now: clock.now,
    random: () => random,
    backoff: defaultBackoff,
    state,
  });
  /** A probe that fails now. */
  const fail = () => made.failed(made.outages, "probe");
  /** A request that breaks off now. */
  const breakOff = () => made.failed(made.outages, "connection");
  return { clock, circuit: made, fail, breakOff };
}

describe("the circuit breaker of a replica", () => {
  test("is out after a failure, on trial when it is told so, and up after an answer", () => {
    const { circuit: it, fail } = circuit();
    const seen = [it.state];
    fail();
    seen.push(it.state);
    it.tryAgain();
    seen.push(it.state);
    it.succeeded();
    seen.push(it.state);
    expect(seen).toEqual(["up", "out", "trial", "up"]);
  });

  test("leaves it alone for twice as long after each failure in a row, up to 30 seconds", () => {
    const { fail } = circuit();
    expect(Array.from({ length: 8 }, fail)).toEqual([
      1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
    ]);
  });

  test("takes up to half of a pause away by chance", () => {
    expect([circuit({ random: 0 }).fail(), circuit({ random: 0.5 }).fail()]).toEqual([500, 750]);
  });

  test("counts the answers that a crash breaks off as one failure", () => {
    const { circuit: it } = circuit();
    const { outages } = it;
    const fail = () => it.failed(outages, "connection");
    expect([fail(), fail(), fail()]).toEqual([1000, undefined, undefined]);
    expect(it.failures).toBe(1);
  });

  test("does not put one out again for a request of before it came back", () => {
    const { circuit: it, fail } = circuit();
    const { outages } = it;
    fail();
    it.succeeded();
    expect([it.failed(outages, "connection"), it.state]).toEqual([undefined, "up"]);
  });

  test("goes on with its series where it fails again soon, and begins anew after a steady while", async () => {
    const { clock, circuit: it, fail } = circuit();
    fail();
    it.succeeded();
    await clock.pass(5000);
    expect(fail()).toBe(2000);
    it.succeeded();
    await clock.pass(10_001);
    expect(fail()).toBe(1000);
  });

  test("is shut only after two failed probes in a row, until it may be tried again", () => {
    const { circuit: it, fail, breakOff } = circuit();
    const shut = [breakOff, fail, fail].map((step) => {
      step();
      return it.isShut;
    });
    it.tryAgain();
    shut.push(it.isShut);
    breakOff();
    expect([...shut, it.isShut]).toEqual([false, false, true, false, false]);
  });

  test("is never shut by requests that break off, which count once in a pause", async () => {
    const { clock, circuit: it, breakOff } = circuit();
    const seen = [];
    for (const ms of [1000, 2000, 4000, 8000, 16_000]) {
      expect([breakOff(), breakOff()]).toEqual([ms, undefined]);
      seen.push(it.isShut || it.isBad);
      await clock.pass(ms);
    }
    breakOff();
    expect([seen, it.isShut, it.isBad]).toEqual([Array(5).fill(false), false, true]);
    it.succeeded();
    await clock.pass(1000);
    expect([breakOff(), it.isBad]).toEqual([30_000, false]);
  });

  test("was shut while it was away, and is not once it answers, whatever else fails", async () => {
    const { clock, circuit: it, fail } = circuit();
    for (const ms of [1000, 2000, 4000]) {
      fail();
      await clock.pass(ms);
    }
    const seen = [it.isShut];
    for (const _ of [1, 2, 3, 4]) {
      it.succeeded();
      await clock.pass(1000);
      it.failed(it.outages, "answer");
      seen.push(it.isShut || it.isBad);
    }
    expect(seen).toEqual([true, false, false, false, false]);
  });

  test("says how long it is still left alone", async () => {
    const { clock, circuit: it, fail } = circuit();
    fail();
    await clock.pass(300);
    const during = it.remainingMs;
    await clock.pass(5000);
    expect([during, it.remainingMs]).toEqual([700, 0]);
  });

  test("is not put on trial where it is up", () => {
    const { circuit: it } = circuit();
    it.tryAgain();
    expect(it.state).toBe("up");
  });

  test("counts server errors once in a pause, is never shut by them, and forgets them with an answer", async () => {
    const { clock, circuit: it } = circuit();
    const fault = () => it.failed(it.outages, "answer");
    expect([fault(), fault()]).toEqual([1000, undefined]);
    for (const ms of [1000, 2000, 4000, 8000]) {
      await clock.pass(ms);
      expect([fault(), it.isBad]).toEqual([2 * ms, false]);
    }
    await clock.pass(16_000);
    expect([fault(), it.isBad, it.isShut]).toEqual([30_000, true, false]);
    it.succeeded();
    expect([fault(), it.isBad]).toEqual([1000, false]);
  });
});
