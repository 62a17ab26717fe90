import { describe, expect, test } from "bun:test";
import { processStart } from "../../../src/subprocess/program.ts";
import { skipUnless } from "../../support/skip-reason.ts";

const skips = skipUnless(process.platform !== "win32", "Windows has no SIGHUP, which needs it");

describe.skipIf(skips)("the start of a process", () => {
  test("is the same each time, another for another process, and gone with it", async () => {
    const child = Bun.spawn(["sleep", "60"]);
    const [first, again] = [processStart(child.pid), processStart(child.pid)];
    expect(first).toBeString();
    expect([again, first === processStart(process.pid)]).toEqual([first, false]);
    child.kill("SIGKILL");
    await child.exited;
    expect(processStart(child.pid)).toBeUndefined();
  });
});
