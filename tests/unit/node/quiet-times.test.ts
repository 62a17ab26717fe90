import { describe, expect, test } from "bun:test";
import { QuietTimes } from "../../../src/node/quiet-times.ts";
import { waitFor } from "../../support/wait-for.ts";

const { signal } = new AbortController();

/** A node that is busy when it is told to be, and how often that was asked. */
function node(isBusy = false) {
  const state = { isBusy, looks: 0 };
  const quiet = (more: { quietMs?: number; longestPauseMs?: number } = {}): QuietTimes =>
    new QuietTimes({
      isBusy: () => {
        state.looks++;
        return state.isBusy;
      },
      ...more,
    });
  return { state, quiet };
}

describe("work that can wait", () => {
  test("goes on at once where nobody asks", async () => {
    await node().quiet().wait(signal);
  });

  test("waits until a request is answered, and a while longer", async () => {
    const { state, quiet } = node(true);
    const times = quiet({ quietMs: 30 });
    let isOver = false;
    const waits = times.wait(signal).then(() => {
      isOver = true;
    });
    await waitFor("some looks", () => state.looks > 2);
    expect(isOver).toBe(false);
    state.isBusy = false;
    const from = performance.now();
    await waits;
    // A look may lie between the last request and now.
    expect(performance.now() - from).toBeGreaterThan(10);
  });

  test("is not held up for ever on a node that is always busy", async () => {
    await node(true).quiet({ longestPauseMs: 20 }).wait(signal);
  });

  test("is told to pause and to go on, until nobody watches any more", async () => {
    const { state, quiet } = node();
    const changes: boolean[] = [];
    const watching = quiet({ quietMs: 1 }).watch((goesOn) => changes.push(goesOn));
    await waitFor("some looks", () => state.looks > 2);
    expect(changes).toEqual([]);
    state.isBusy = true;
    await waitFor("the pause", () => changes.length === 1);
    state.isBusy = false;
    await waitFor("the end of it", () => changes.length === 2);
    expect(changes).toEqual([false, true]);
    watching[Symbol.dispose]();
    const { looks } = state;
    await new Promise(setImmediate);
    expect(state.looks).toBe(looks);
  });

  test("has a turn after the longest pause, and pauses again", async () => {
    const { quiet } = node(true);
    const changes: boolean[] = [];
    using _ = quiet({ longestPauseMs: 20 }).watch((goesOn) => changes.push(goesOn));
    await waitFor("a turn and a pause", () => changes.length >= 3);
    expect(changes.slice(0, 3)).toEqual([false, true, false]);
  });
});
