import { describe, expect, test } from "bun:test";
import { deadline } from "../../../../src/server/middleware/timeout.ts";
import { waitFor } from "../../../support/wait-for.ts";

describe("a deadline", () => {
  test("aborts with an error for the caller", async () => {
    const { signal } = deadline(1);
    await waitFor("the deadline", () => signal.aborted);
    expect(signal.reason).toMatchObject({ kind: "timeout" });
    expect(String(signal.reason)).toContain("0.001 s");
  });

  test("of 0 is none", async () => {
    const { signal } = deadline(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(signal.aborted).toBe(false);
  });

  test("is forgotten once it is cleared", async () => {
    const { signal, clear } = deadline(2);
    clear();
    const other = deadline(10);
    await waitFor("a later deadline", () => other.signal.aborted);
    expect(signal.aborted).toBe(false);
  });
});
