import { expect, test } from "bun:test";
import { TrustedClock } from "../../../src/core/trusted-clock.ts";
import { recordingLog } from "../../support/recording-log.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const began = Date.UTC(2026, 0, 1);

function playedClock() {
  const { log, lines } = recordingLog();
  const time = { wall: began, steady: 0 };
  const clock = new TrustedClock(log, { wall: () => time.wall, steady: () => time.steady });
  return {
    lines,
    pass(ms: number) {
      time.wall += ms;
      time.steady += ms;
    },
    jump(ms: number) {
      time.wall += ms;
    },
    /** Milliseconds since it began. */
    expiry: () => clock.expiryTime().getTime() - began,
    made: () => clock.now().getTime() - began,
  };
}

test("follows the machine's clock, and small corrections of it", () => {
  const { pass, jump, expiry, lines } = playedClock();
  pass(3 * day);
  expect(expiry()).toBe(3 * day);
  jump(30_000);
  expect(expiry()).toBe(3 * day + 30_000);
  jump(-50_000);
  expect(expiry()).toBe(3 * day - 20_000);
  expect(lines).toEqual([]);
});

test("goes on by the time that passed when the machine's clock jumps ahead, and says so once", () => {
  const { pass, jump, expiry, lines } = playedClock();
  pass(hour);
  jump(3650 * day);
  expect(expiry()).toBe(hour);
  pass(hour);
  expect(expiry()).toBe(2 * hour);
  expect(lines).toMatchObject([{ level: "warn", fields: { seconds: 3650 * 86_400 } }]);
  jump(-3650 * day);
  expect(expiry()).toBe(2 * hour);
  expect(lines).toHaveLength(1);
});

test("is never later than a clock that jumps back", () => {
  const { pass, jump, expiry } = playedClock();
  pass(2 * hour);
  jump(-hour);
  expect(expiry()).toBe(hour);
});

test("what is made while the clock is set back has not expired when it is right again", () => {
  const { pass, jump, expiry, made } = playedClock();
  pass(2 * hour);
  expect(made()).toBe(2 * hour);
  jump(-40 * day);
  expect([expiry(), made()]).toEqual([2 * hour - 40 * day, 2 * hour]);
  jump(50 * day);
  expect([expiry(), made()]).toEqual([2 * hour, 2 * hour + 10 * day]);
  pass(day);
  expect([expiry(), made()]).toEqual([day + 2 * hour + 10 * day, day + 2 * hour + 10 * day]);
});

test("believes a clock that goes on steadily for a day after it jumped, and not one that jumps again", () => {
  const { pass, jump, expiry } = playedClock();
  jump(30 * day);
  expect(expiry()).toBe(0);
  pass(day - hour);
  expect(expiry()).toBe(day - hour);
  jump(30 * day);
  expect(expiry()).toBe(day - hour);
  pass(day - hour);
  expect(expiry()).toBe(2 * day - 2 * hour);
  pass(hour);
  expect(expiry()).toBe(62 * day - hour);
});
