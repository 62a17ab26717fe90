import { expect, test } from "bun:test";
import { ModelLoad } from "../../../src/core/model-load.ts";

const state = ({ waiting, inUse }: ModelLoad) => ({ waiting, inUse });

test("a call waits, is served and ends; each is counted once", () => {
  const load = new ModelLoad({ name: "m" });
  const call = load.call();
  expect(state(load)).toEqual({ waiting: 1, inUse: 0 });
  call.start();
  call.start();
  expect(state(load)).toEqual({ waiting: 0, inUse: 1 });
  call.end();
  call.end();
  call.start();
  expect(state(load)).toEqual({ waiting: 0, inUse: 0 });
});

test("a call that ends in line leaves it", () => {
  const load = new ModelLoad({ name: "m" });
  load.call().end();
  expect(state(load)).toEqual({ waiting: 0, inUse: 0 });
});

test("a line is full when as many wait as may and no slot is free", () => {
  const load = new ModelLoad({ name: "m", slots: 1, maxQueue: 1 });
  const first = load.call();
  expect(load.problem).toBeUndefined();
  first.start();
  expect(load.problem).toBeUndefined();
  const second = load.call();
  expect(load.problem).toBe("The queue of the model 'm' is full: 1 waiting, 1 being answered.");
  first.end();
  second.start();
  expect(load.problem).toBeUndefined();
});

test("a line of no length is full only while every slot is taken", () => {
  const load = new ModelLoad({ name: "m", slots: 1, maxQueue: 0 });
  expect(load.problem).toBeUndefined();
  load.call().start();
  expect(load.problem).toBeDefined();
});

test("a model without bounds is never full", () => {
  const load = new ModelLoad({ name: "m" });
  for (let calls = 0; calls < 100; calls++) load.call();
  expect(load.problem).toBeUndefined();
});
