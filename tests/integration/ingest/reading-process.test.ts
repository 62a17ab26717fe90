import { describe, expect, test } from "bun:test";
import { defaultLimits } from "../../../src/ingest/readers/limits.ts";
import { ReadingProcess } from "../../../src/ingest/reading-process.ts";
import { engineEnvironment } from "../../../src/subprocess/program.ts";
import { programUnderTest } from "../../support/paddock-process.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { wordFile } from "../../support/word-file.ts";

const note = new TextEncoder().encode("# A note\n\nwith text.");
const unbounded = {
  limits: {
    ...defaultLimits,
    max_unpack_ratio: Number.MAX_SAFE_INTEGER,
    max_elements: Number.MAX_SAFE_INTEGER,
  },
};

const reader = (bounds: { read_timeout?: number; read_memory?: number } = {}): ReadingProcess =>
  new ReadingProcess({
    program: { command: programUnderTest, env: engineEnvironment(process.env) },
    read_timeout: 120,
    read_memory: 2048,
    ...bounds,
  });

/** Some minutes, and gigabytes, of work. */
const bomb = (): Promise<Uint8Array> => wordFile("<w:p/>".repeat(5_000_000));

describe("reading in a process of its own", () => {
  test("gives what reading gives, and refuses as it does", async () => {
    await using reading = reader();
    expect(await reading.read("a.md", note, {})).toEqual(["# A note\n\nwith text."]);
    const refusal = await rejectionOf(reading.read("a.docx", note, {}));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("is damaged or not a Word document"),
    });
    expect(await reading.read("b.txt", note, {})).toHaveLength(1);
  });

  test.each<[string, { read_timeout?: number; read_memory?: number }]>([
    ["read_timeout", { read_timeout: 2 }],
    ["read_memory", { read_memory: 400 }],
  ])("ends at %s, and the next document is read", async (limit, bounds) => {
    await using reading = reader(bounds);
    const refusal = await rejectionOf(reading.read("a.docx", await bomb(), unbounded));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining(`raise ingest.${limit}.`),
    });
    expect(await reading.read("a.md", note, {})).toHaveLength(1);
  });
});
