import { describe, expect, test } from "bun:test";
import { StepWatch } from "../../../../src/engine/machine/steps.ts";
import { ContextPool, type Packing } from "../../../../src/engine/scheduling/context-pool.ts";

/** A pool, and the jobs that it computed, in their order; those that were computed together in one. */
function pool(
  onJob: (job: string) => void = () => {},
  packing: Packing = { mostJobs: 1, mostSize: 100 },
  contexts = 1,
) {
  const taken: string[] = [];
  const jobs = new ContextPool<object, string, string>({
    contexts: Array.from({ length: contexts }, () => ({})),
    steps: new StepWatch(),
    sizeOf: ({ length }) => length,
    packing,
    async compute(_, together) {
      const job = together.join(" ");
      taken.push(job);
      onJob(job);
      return together.map((one) => one.toUpperCase());
    },
  });
  const { signal } = new AbortController();
  const runAs = (caller: string, ...inputs: string[]) => jobs.run(inputs, { signal, caller });
  return { taken, runAs, run: (...inputs: string[]) => jobs.run(inputs, { signal }) };
}

describe("jobs of several requests", () => {
  test("are taken largest first within a request, and answered in its order", async () => {
    const { taken, run } = pool();
    expect(await run("aa", "a", "aaa")).toEqual(["AA", "A", "AAA"]);
    expect(taken).toEqual(["aaa", "aa", "a"]);
  });

  test("are taken in turn, so that a small request does not wait for a large one", async () => {
    const { taken, run } = pool();
    await Promise.all([run("a1", "a2", "a3", "a4"), run("b1"), run()]);
    expect(taken).toEqual(["a4", "b1", "a3", "a2", "a1"]);
  });

  test("are taken in turn from callers, however many requests one of them has", async () => {
    const { taken, runAs } = pool();
    const many = ["a1", "a2", "a3", "a4"].map((job) => runAs("a", job));
    await Promise.all([...many, runAs("b", "b1", "b2"), runAs("c", "c1")]);
    expect(taken).toEqual(["a1", "b2", "c1", "a2", "b1", "a3", "a4"]);
  });

  test("may come while others are taken", async () => {
    let later: Promise<string[]> | undefined;
    const { taken, run } = pool(() => {
      later ??= run("b1");
    });
    await run("a1", "a2");
    await later;
    expect(taken).toEqual(["a2", "a1", "b1"]);
  });

  test("are computed together as far as they fit, those of several requests too", async () => {
    const { taken, run } = pool(() => {}, { mostJobs: 3, mostSize: 6 });
    const found = await Promise.all([run("a1", "a2", "a3", "a4"), run("b1"), run("c123456")]);
    expect(found).toEqual([["A1", "A2", "A3", "A4"], ["B1"], ["C123456"]]);
    expect(taken).toEqual(["a4 b1", "c123456", "a3 a2 a1"]);
  });

  test("are computed one by one while there are too few for it", async () => {
    const { taken, run } = pool(() => {}, { mostJobs: 3, mostSize: 6, leastSize: 5 });
    await Promise.all([run("a1"), run("a2"), run("a3"), run("a4"), run("a5")]);
    expect(taken).toEqual(["a1 a2 a3", "a4", "a5"]);
  });

  test("are shared out among the contexts, unless each takes what it can", async () => {
    const shared = pool(() => {}, { mostJobs: 4, mostSize: 100 }, 2);
    await shared.run("a1", "a2", "a3", "a4");
    expect(shared.taken).toEqual(["a4 a3", "a2", "a1"]);
    const filled = pool(() => {}, { mostJobs: 4, mostSize: 100, fills: true }, 2);
    await filled.run("a1", "a2", "a3", "a4");
    expect(filled.taken).toEqual(["a4 a3 a2 a1"]);
  });
});
