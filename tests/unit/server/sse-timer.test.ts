import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { LazyTimer } from "../../../src/server/sse.ts";

let now = 0;
const realNow = performance.now;
const pass = (ms: number): void => {
  for (let left = ms; left > 0; left--) {
    now++;
    jest.advanceTimersByTime(1);
  }
};

beforeEach(() => {
  now = 0;
  jest.useFakeTimers();
  performance.now = () => now;
});
afterEach(() => {
  jest.useRealTimers();
  performance.now = realNow;
});

function counted(): { timer: LazyTimer; times: () => number } {
  let count = 0;
  return { timer: new LazyTimer(() => count++), times: () => count };
}

test("calls back once, when it is due", () => {
  const { timer, times } = counted();
  timer.dueIn(100);
  pass(99);
  expect(times()).toBe(0);
  pass(1);
  expect(times()).toBe(1);
  pass(500);
  expect(times()).toBe(1);
});

test("is put off by every later time, however often", () => {
  const { timer, times } = counted();
  for (let at = 0; at < 50; at++) {
    timer.dueIn(100);
    pass(30);
  }
  expect(times()).toBe(0);
  pass(70);
  expect(times()).toBe(1);
});

test("comes sooner where it is told a shorter time", () => {
  const { timer, times } = counted();
  timer.dueIn(1000);
  pass(10);
  timer.dueIn(20);
  pass(20);
  expect(times()).toBe(1);
});

test("does nothing once it is disposed of", () => {
  const { timer, times } = counted();
  timer.dueIn(10);
  timer[Symbol.dispose]();
  pass(50);
  timer.dueIn(10);
  pass(50);
  expect(times()).toBe(0);
});
