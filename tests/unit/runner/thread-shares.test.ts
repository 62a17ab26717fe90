import { describe, expect, test } from "bun:test";
import { ThreadShares } from "../../../src/runner/thread-shares.ts";

function members(budget: number, count: number) {
  const shares = new ThreadShares(budget);
  return Array.from({ length: count }, () => {
    const told: number[] = [];
    return { told, share: shares.join((threads) => void told.push(threads)) };
  });
}

describe("threads shared by processes", () => {
  test("are all of them for one that works alone", () => {
    const [chat, embedding] = members(4, 2);
    chat?.share.busy(true);
    chat?.share.busy(false);
    embedding?.share.busy(true);
    expect([chat?.told, embedding?.told]).toEqual([[], []]);
    expect([chat?.share.threads, embedding?.share.threads]).toEqual([4, 4]);
  });

  test("are divided while two work, and whole again for the one that goes on", () => {
    const [chat, embedding] = members(4, 2);
    chat?.share.busy(true);
    embedding?.share.busy(true);
    expect([chat?.share.threads, embedding?.share.threads]).toEqual([2, 2]);
    embedding?.share.busy(false);
    expect(chat?.told).toEqual([2, 4]);
  });

  test("that are left over go to those who came first", () => {
    const all = members(5, 3);
    for (const { share } of all) share.busy(true);
    expect(all.map(({ share }) => share.threads)).toEqual([2, 2, 1]);
  });

  test("are never fewer than one", () => {
    const all = members(2, 3);
    for (const { share } of all) share.busy(true);
    expect(all.map(({ share }) => share.threads)).toEqual([1, 1, 1]);
  });

  test("of one that leaves are the others' again", () => {
    const [first, second] = members(2, 2);
    first?.share.busy(true);
    second?.share.busy(true);
    second?.share.leave();
    expect(first?.told).toEqual([1, 2]);
  });
});
