import { expect, test } from "bun:test";
import { ModelActivity } from "../../../../src/core/models/model-activity.ts";

const state = ({ waiting, inUse }: ModelActivity) => ({ waiting, inUse });

test("a call waits, is served and ends; each is counted once", () => {
  const activity = new ModelActivity({ name: "m" });
  const call = activity.call();
  expect(state(activity)).toEqual({ waiting: 1, inUse: 0 });
  call.start();
  call.start();
  expect(state(activity)).toEqual({ waiting: 0, inUse: 1 });
  call.end();
  call.end();
  call.start();
  expect(state(activity)).toEqual({ waiting: 0, inUse: 0 });
});

test("a call that ends in line leaves it", () => {
  const activity = new ModelActivity({ name: "m" });
  activity.call().end();
  expect(state(activity)).toEqual({ waiting: 0, inUse: 0 });
});

test("a line is full when as many wait as may and no slot is free", () => {
  const activity = new ModelActivity({ name: "m", slots: 1, maxQueue: 1 });
  const first = activity.call();
  expect(activity.problem).toBeUndefined();
  first.start();
  expect(activity.problem).toBeUndefined();
  const second = activity.call();
  expect(activity.problem).toBe("The queue of the model 'm' is full: 1 waiting, 1 being answered.");
  first.end();
  second.start();
  expect(activity.problem).toBeUndefined();
});

test("a line of no length is full only while every slot is taken", () => {
  const activity = new ModelActivity({ name: "m", slots: 1, maxQueue: 0 });
  expect(activity.problem).toBeUndefined();
  activity.call().start();
  expect(activity.problem).toBeDefined();
});

test("a model without bounds is never full", () => {
  const activity = new ModelActivity({ name: "m" });
  for (let calls = 0; calls < 100; calls++) activity.call();
  expect(activity.problem).toBeUndefined();
});
