import { afterEach, expect, mock, spyOn, test } from "bun:test";
import {
  follow,
  percentOf,
  progressText,
  wordsOf,
} from "../../../../src/web/models/pull-progress.ts";

afterEach(() => {
  mock.restore();
});

const state = { source: "hf:a/b", label: "Downloading b", completed: 0, total: 1e9 };

test("a pull tells bytes, speed and time left, of each step for itself", () => {
  const clock = spyOn(performance, "now").mockReturnValue(0);
  const followed = follow();
  expect(progressText(followed({ ...state, total: 0, label: "Looking for it" }))).toBe(
    "Looking for it …",
  );
  clock.mockReturnValue(60_000);
  // It goes on from an earlier pull, whose bytes are no speed.
  expect(progressText(followed({ ...state, completed: 2e8 }))).toBe("20 %, 200.0 MB of 1.0 GB");
  clock.mockReturnValue(62_000);
  expect(progressText(followed({ ...state, completed: 3e8 }))).toBe(
    "30 %, 300.0 MB of 1.0 GB, 50.0 MB/s, 14 s left",
  );
  clock.mockReturnValue(70_000);
  expect(progressText(followed({ ...state, label: "Checking it", completed: 1e8 }))).toBe(
    "10 %, 100.0 MB of 1.0 GB",
  );
});

test("a pull of unknown size claims no share", () => {
  const unknown = { ...state, total: 0, completed: 5e6, rate: 1e6 };
  expect([percentOf(unknown), progressText(unknown)]).toEqual([undefined, "5.0 MB, 1.0 MB/s"]);
  expect(percentOf({ ...state, completed: 2e9 })).toBe(100);
});

test("a pull whose model the node does not serve says so", () => {
  expect(wordsOf({ source: "hf:a/b", model: "b" })).toBe("b is here, and answers.");
  expect(wordsOf({ source: "hf:a/b" })).toContain("does not serve it");
});
