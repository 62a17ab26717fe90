import { describe, expect, test } from "bun:test";
import { AttentionTile } from "../../../../src/engine/scheduling/attention-tile.ts";

/** On a machine where a token takes `ms`, and in less than a tile of 64 so much more for each token before it. */
function measured({ ms = 1, slower = 0 }, pasts = [0, 100, 500]) {
  const tile = new AttentionTile(64);
  const take = (tokens: number, past: number): void => {
    const each = ms + (tokens < 64 ? slower * (past + tokens / 2) : 0);
    tile.took({ tokens, past, ms: tokens * each });
  };
  for (const past of pasts) {
    take(200, past);
    take(40, past);
  }
  return { tile, take };
}

describe("the rest of a prompt that fills no tile", () => {
  test("is evaluated with a little of what is held, where that is sooner", () => {
    const { tile } = measured({ slower: 0.001 });
    // 40 tokens of 2 ms take as long as 80 of one.
    expect(tile.reused(980, 1020)).toBe(1020 - 64);
    // 60 of 1.03 ms are not worth it.
    expect(tile.reused(0, 60)).toBe(0);
    expect(tile.reused(20, 80)).toBe(20);
    expect(tile.reused(100, 160)).toBe(160 - 64);
  });

  test("is evaluated alone, where a token takes the same", () => {
    const { tile } = measured({ slower: 0 });
    expect(tile.reused(980, 1040)).toBe(980);
  });

  test("is never made more than twice as long, and a whole tile no longer", () => {
    const { tile } = measured({ slower: 1 });
    expect([31, 32, 63, 64].map((rest) => tile.reused(1000, 1000 + rest))).toEqual([
      1000, 968, 999, 1000,
    ]);
  });

  test("is evaluated alone until both were measured", () => {
    const tile = new AttentionTile(64);
    expect(tile.reused(20, 80)).toBe(20);
    tile.took({ tokens: 60, past: 20, ms: 600 });
    expect(tile.reused(20, 80)).toBe(20);
    tile.took({ tokens: 80, past: 0, ms: 80 });
    expect(tile.reused(20, 80)).toBe(16);
  });

  test("is measured again now and then, and forgets what was slow for a while", () => {
    const { tile, take } = measured({ slower: 0 });
    tile.took({ tokens: 60, past: 20, ms: 60_000 });
    const lengths = Array.from({ length: 64 }, () => {
      const reused = tile.reused(20, 80);
      take(80 - reused, reused);
      return reused;
    });
    expect(lengths.filter((reused) => reused === 20).length).toBeGreaterThanOrEqual(4);
    for (let time = 0; time < 60; time++) take(60, 20);
    expect(tile.reused(20, 80)).toBe(20);
  });

  test("is evaluated alone where there are no tiles", () => {
    const tile = new AttentionTile(1);
    tile.took({ tokens: 1, past: 1000, ms: 10 });
    expect([tile.reused(20, 80), tile.reused(20, 21)]).toEqual([20, 20]);
  });
});
