import { describe, expect, test } from "bun:test";
import { TokenBucket } from "../../../../src/core/limits/token-bucket.ts";

function bucketOf(limit: number) {
  const clock = { now: 1000 };
  return { clock, bucket: new TokenBucket(limit, () => clock.now) };
}

describe("a token bucket", () => {
  test("is full at first", () => {
    const { bucket } = bucketOf(60);
    expect([bucket.isFull, bucket.waitMs(60), bucket.status()]).toEqual([
      true,
      0,
      { limit: 60, remaining: 60, resetMs: 0 },
    ]);
  });

  test("refills evenly over a minute, and not beyond its limit", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(60);
    expect(bucket.status()).toEqual({ limit: 60, remaining: 0, resetMs: 60_000 });
    clock.now += 15_000;
    expect(bucket.status()).toEqual({ limit: 60, remaining: 15, resetMs: 45_000 });
    clock.now += 600_000;
    expect([bucket.isFull, bucket.status()]).toEqual([
      true,
      { limit: 60, remaining: 60, resetMs: 0 },
    ]);
  });

  test("says how long until it holds enough, and holds it then", () => {
    const { clock, bucket } = bucketOf(7);
    bucket.take(7);
    const waitMs = bucket.waitMs(3);
    expect(waitMs).toBeCloseTo((3 / 7) * 60_000, 6);
    clock.now += waitMs;
    expect(bucket.waitMs(3)).toBe(0);
  });

  test("can be overdrawn: nothing remains until the debt is paid back", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(180);
    expect(bucket.status()).toEqual({ limit: 60, remaining: 0, resetMs: 180_000 });
    clock.now += 120_000;
    expect([bucket.status().remaining, bucket.waitMs(1)]).toEqual([0, 1000]);
    clock.now += 1000;
    expect([bucket.status().remaining, bucket.waitMs(1)]).toEqual([1, 0]);
  });

  test("shows whole units only, while it refills by fractions", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(60);
    clock.now += 1500;
    expect(bucket.status().remaining).toBe(1);
    clock.now += 500;
    expect(bucket.status().remaining).toBe(2);
  });

  test("takes another limit while it is in use; what was used stays used", () => {
    const { clock, bucket } = bucketOf(60);
    bucket.take(50);
    bucket.limit = 120;
    expect(bucket.status()).toEqual({ limit: 120, remaining: 70, resetMs: 25_000 });
    bucket.limit = 30;
    expect(bucket.status()).toEqual({ limit: 30, remaining: 0, resetMs: 100_000 });
    clock.now += 100_000;
    expect(bucket.isFull).toBe(true);
  });
});
