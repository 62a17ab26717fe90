import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import { createProgress } from "../../../src/cli/progress.ts";
import type { Shell } from "../../../src/cli/shell.ts";

afterEach(() => {
  mock.restore();
});

function shell(isTerminal: boolean) {
  const said: string[] = [];
  const made: Shell = {
    env: {},
    program: { command: [], env: {} },
    cwd: "/",
    version: "0.0.0",
    build: "",
    handbook: async () => [],
    isTerminal,
    hasColour: false,
    print: () => {
      throw new Error("Progress is not what the command was asked for");
    },
    printAll: () => Promise.reject(new Error("Progress is not what the command was asked for")),
    say: (text) => said.push(text),
    paint: () => {
      throw new Error("Progress is not what the command was asked for");
    },
    draw: (text) => said.push(text),
    input: {
      isTerminal: false,
      stream: async function* () {},
      line: async () => "",
      terminal: () => ({ input: process.stdin, output: process.stdout }),
    },
    residentMemory: () => 0,
    processes: { id: 0, startOf: () => undefined, hangUp: () => {} },
    onHangup: () => ({ [Symbol.dispose]: () => {} }),
    stopped: new AbortController().signal,
    end: () => {},
  };
  const clock = spyOn(performance, "now");
  const at = (ms: number): void => {
    clock.mockReturnValue(5000 + ms);
  };
  at(0);
  return { said, at, progress: createProgress(made) };
}

const redraw = "\r\u001b[K";

describe("progress on a terminal", () => {
  test("is one line that is drawn again, and ends with what came of it", () => {
    const { said, at, progress } = shell(true);
    const step = progress.step("Copying", 8_000_000, "bytes");
    at(2000);
    step.update(2_000_000);
    at(4000);
    step.finish("copied");
    expect(said).toEqual([
      expect.stringContaining(`${redraw}Copying [${" ".repeat(24)}] 0 %`),
      `${redraw}Copying [${"=".repeat(6)}${" ".repeat(18)}] 25 %  1.0 MB/s  6 s left`,
      `${redraw}Copying: copied (4.0 s)\n`,
    ]);
  });

  test("is drawn a few times a second, however often it advances", () => {
    const { said, at, progress } = shell(true);
    const step = progress.step("Loading", 100, "percent");
    for (let done = 1; done <= 100; done++) {
      at(done * 10);
      step.update(done);
    }
    expect(said.length).toBeGreaterThan(5);
    expect(said.length).toBeLessThan(15);
  });

  test("never goes over its end", () => {
    const { said, at, progress } = shell(true);
    const step = progress.step("Copying", 100, "percent");
    at(1000);
    step.update(150);
    expect(said.at(-1)).toContain(`[${"=".repeat(24)}] 100 %`);
    expect(said.at(-1)).not.toContain("-");
  });

  test("begins where an interrupted step ended, and counts only what is done now", () => {
    const { said, at, progress } = shell(true);
    const step = progress.step("Going on", 8_000_000, "bytes", 4_000_000);
    at(2000);
    step.update(6_000_000);
    expect(said).toEqual([
      expect.stringContaining(`[${"=".repeat(12)}${" ".repeat(12)}] 50 %`),
      expect.stringContaining("] 75 %  1.0 MB/s  2 s left"),
    ]);
  });

  test("tells the rate of late, and long times in minutes and hours", () => {
    const { said, at, progress } = shell(true);
    const step = progress.step("Downloading", 40_000_000_000, "bytes");
    at(10_000);
    step.update(1_000_000_000);
    for (let second = 11; second <= 30; second++) {
      at(second * 1000);
      step.update(1_000_000_000 + (second - 10) * 1_000_000);
    }
    expect(said.at(-1)).toContain("1.0 MB/s  10.8 h left");
    at(31_000);
    step.update(39_000_000_000);
    expect(said.at(-1)).toMatch(/GB\/s {2}\d s left$/);
  });

  test("claims no share and no time left of a step whose size is not known", () => {
    const { said, at, progress } = shell(true);
    const step = progress.step("Downloading", 0, "bytes");
    at(1000);
    step.update(3_000_000);
    expect(said.at(-1)).toContain("3.0 MB/s");
    expect(said.join("")).not.toMatch(/ %|s left|NaN|Infinity/);
  });
});

describe("progress elsewhere", () => {
  test("is a line at the start, at each quarter, and at the end", () => {
    const { said, at, progress } = shell(false);
    const step = progress.step("Storing", 200, "passages");
    for (let done = 1; done <= 200; done++) {
      at(1000 + done * 10);
      step.update(done);
    }
    step.finish("200 passages");
    expect(said).toEqual([
      "Storing ...\n",
      "Storing: 25 % of 200 passages\n",
      "Storing: 50 % of 200 passages\n",
      "Storing: 75 % of 200 passages\n",
      "Storing: 200 passages (3.0 s)\n",
    ]);
  });

  test("tells the rate and the time left of bytes, at each quarter and each minute", () => {
    const { said, at, progress } = shell(false);
    const step = progress.step("Downloading", 400_000_000, "bytes");
    for (let seconds = 1; seconds < 200; seconds++) {
      at(seconds * 1000);
      step.update(seconds * 1_000_000);
    }
    expect(said).toEqual([
      "Downloading ...\n",
      "Downloading: 15 % of 400.0 MB, 1.0 MB/s, 6 min left\n",
      "Downloading: 25 % of 400.0 MB, 1.0 MB/s, 5 min left\n",
      "Downloading: 40 % of 400.0 MB, 1.0 MB/s, 4 min left\n",
    ]);
  });

  test("has no lines between for short work, and no marks of a terminal", () => {
    const { said, at, progress } = shell(false);
    const step = progress.step("Loading", 100, "percent");
    for (let done = 1; done <= 100; done++) step.update(done);
    at(400);
    step.finish();
    expect(said).toEqual(["Loading ...\n", "Loading: done (0.4 s)\n"]);
  });

  test("has only its two ends when the size is not known", () => {
    const { said, at, progress } = shell(false);
    const step = progress.step("Downloading", 0, "bytes");
    at(60_000);
    step.update(3_000_000);
    step.finish();
    expect(said).toEqual(["Downloading ...\n", "Downloading: done (60.0 s)\n"]);
  });
});
