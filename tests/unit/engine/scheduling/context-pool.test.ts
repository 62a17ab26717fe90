import { describe, expect, test } from "bun:test";
import { JobQueue } from "../../../../src/engine/scheduling/context-pool.ts";

const drain = (jobs: JobQueue<string>): string[] => {
  const taken: string[] = [];
  for (let job = jobs.next(); job !== undefined; job = jobs.next()) taken.push(job);
  return taken;
};

describe("jobs of several requests", () => {
  test("are taken largest first within a request", () => {
    const jobs = new JobQueue<string>();
    jobs.add(["aa", "a", "aaa"], ({ length }) => length);
    expect(drain(jobs)).toEqual(["aaa", "aa", "a"]);
  });

  test("are taken in turn, so that a small request does not wait for a large one", () => {
    const jobs = new JobQueue<string>();
    jobs.add(["a1", "a2", "a3", "a4"], () => 1);
    jobs.add(["b1"], () => 1);
    jobs.add([], () => 1);
    expect(drain(jobs)).toEqual(["a4", "b1", "a3", "a2", "a1"]);
  });

  test("may come while others are taken", () => {
    const jobs = new JobQueue<string>();
    jobs.add(["a1", "a2"], () => 1);
    expect(jobs.next()).toBe("a2");
    jobs.add(["b1"], () => 1);
    expect(drain(jobs)).toEqual(["a1", "b1"]);
  });
});
