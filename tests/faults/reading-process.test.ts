import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Chunk, chunk } from "../../src/ingest/chunk.ts";
import { defaultLimits } from "../../src/ingest/readers/limits.ts";
import type { ReadOptions } from "../../src/ingest/readers/read.ts";
import { ReadingProcess } from "../../src/ingest/reading-process.ts";
import { engineEnvironment } from "../../src/subprocess/program.ts";
import { epubOf } from "../support/epub-file.ts";
import { pptxOf, row, title, xlsxOf } from "../support/office-files.ts";
import { programUnderTest } from "../support/paddock-process.ts";
import { childrenOf, isAlive } from "../support/process-tree.ts";
import { rejectionOf } from "../support/rejection.ts";
import { waitFor } from "../support/wait-for.ts";
import { wordFile } from "../support/word-file.ts";

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
let bomb: Promise<Uint8Array> | undefined;

/** The passages of one document; throws why it cannot be read. */
const cutOne = async (
  reading: ReadingProcess,
  name: string,
  bytes: Uint8Array,
  ...rest: [options: Partial<ReadOptions>, cutting: Parameters<ReadingProcess["cut"]>[2]]
): Promise<Chunk[]> => {
  const [outcome = []] = await reading.cut([{ name, bytes }], ...rest);
  if (outcome instanceof Error) throw outcome;
  return outcome;
};

/** Each text is short. */
const read = async (
  reading: ReadingProcess,
  name: string,
  bytes: Uint8Array,
  options: Partial<ReadOptions> = {},
): Promise<string[]> => {
  const { signal } = new AbortController();
  const cutting = { maxTokens: 4096, overlapTokens: 0, signal, countTokens: ones };
  return (await cutOne(reading, name, bytes, options, cutting)).map(({ source }) => source);
};

const ones = async (texts: string[]): Promise<number[]> => texts.map(() => 1);

describe("reading in a process of its own", () => {
  const reading = reader();
  afterAll(() => reading[Symbol.asyncDispose]());

  test("gives what reading gives, and refuses as it does", async () => {
    expect(await read(reading, "a.md", note, {})).toEqual(["A note\n\nwith text."]);
    const refusal = await rejectionOf(read(reading, "a.docx", note, {}));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("is damaged or not a Word document"),
    });
    expect(await read(reading, "b.txt", note, {})).toHaveLength(1);
  });

  const withoutRights = process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-sys_nice"] : [];
  test.skipIf(Bun.which("setpriv") === null)(
    "reads for a node of a lower priority than it would have",
    async () => {
      const script = `
        const { ReadingProcess } = await import(${JSON.stringify(join(import.meta.dir, "../../src/ingest/reading-process.ts"))});
        const program = { command: ${JSON.stringify(programUnderTest)}, env: process.env };
        const options = { program, isBackground: true, read_timeout: 60, read_memory: 2048 };
        await using reading = new ReadingProcess(options);
        const signal = new AbortController().signal;
        const countTokens = async (texts) => texts.map(() => 1);
        const document = { name: "a.md", bytes: new TextEncoder().encode("Llamas hum.") };
        const [cut] = await reading.cut([document], {}, { maxTokens: 64, overlapTokens: 0, signal, countTokens });
        console.log(cut[0].source);`;
      const command = [...withoutRights, "nice", "-n", "15", process.execPath, "-e", script];
      const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
      expect(await new Response(child.stdout).text()).toBe("Llamas hum.\n");
    },
  );

  test("reads every kind of file, and ends at read_memory whichever it is", async () => {
    await using reading = reader({ read_memory: 400 });
    const files: [string, Uint8Array][] = [
      ["a.pptx", await pptxOf([{ shapes: title("Llamas") }])],
      ["a.xlsx", await xlsxOf([{ name: "Llamas", rows: row(1, "hum") }])],
      ["a.epub", await epubOf({ pages: { "a.xhtml": "<h1>Llamas</h1>" } })],
      ["a.eml", new TextEncoder().encode("Subject: Llamas\n\nThey hum.")],
      ["a.py", new TextEncoder().encode("class Llamas:\n    legs = 4\n")],
    ];
    for (const [name, bytes] of files) {
      expect(await read(reading, name, bytes)).toEqual([
        expect.stringMatching(/^(?:class )?Llamas/),
      ]);
    }
    const mail = new TextEncoder().encode(`Subject: S\n\n${"a\n".repeat(3_900_000)}`);
    const refusal = await rejectionOf(read(reading, "b.eml", mail));
    expect(String(refusal)).toContain("raise ingest.read_memory");
    expect(await read(reading, "a.md", note)).toHaveLength(1);
  });

  test("cuts there too, and asks here how many tokens a text has", async () => {
    const cutting = { maxTokens: 12, overlapTokens: 0, signal: new AbortController().signal };
    let counts = 0;
    const countTokens = async (texts: string[]): Promise<number[]> => {
      counts++;
      return texts.map((text) => text.split(/\s+/).length);
    };
    const text = Array.from({ length: 600 }, (_, at) => `# Part ${at}\n\nThis is ${at}.`).join(
      "\n\n",
    );
    const bytes = new TextEncoder().encode(text);
    const here = await chunk([text], { ...cutting, countTokens });
    counts = 0;
    expect(await cutOne(reading, "a.md", bytes, {}, { ...cutting, countTokens })).toEqual(here);
    expect(here).toHaveLength(600);
    // In batches, and not one text at a time: there are three texts a section.
    expect(counts).toBeLessThan(60);
    expect(
      await rejectionOf(cutOne(reading, "a.docx", note, {}, { ...cutting, countTokens })),
    ).toMatchObject({ kind: "invalid_request" });
  });

  test("ends with the caller that gives it up, and with a count that fails; the next document is read", async () => {
    const leave = new AbortController();
    const cutting = { maxTokens: 12, overlapTokens: 0 };
    const given = cutOne(
      reading,
      "a.md",
      note,
      {},
      {
        ...cutting,
        signal: leave.signal,
        countTokens: async () => {
          leave.abort(new Error("given up"));
          return [1];
        },
      },
    );
    expect(await rejectionOf(given)).toMatchObject({ message: "given up" });
    const { signal } = new AbortController();
    const failing = async (): Promise<number[]> => {
      throw new Error("no model");
    };
    expect(
      await rejectionOf(
        cutOne(reading, "a.md", note, {}, { ...cutting, signal, countTokens: failing }),
      ),
    ).toMatchObject({ message: "no model" });
    const counted = { ...cutting, signal, countTokens: ones };
    expect(await cutOne(reading, "a.md", note, {}, counted)).toHaveLength(1);
  });

  test("that is ended while a text is counted fails that document, and the next is read", async () => {
    const { signal } = new AbortController();
    const cutting = { maxTokens: 12, overlapTokens: 0, signal };
    const killed = async (): Promise<number[]> => {
      const [child = 0] = await childrenOf(process.pid);
      process.kill(child, "SIGKILL");
      await waitFor("the end of the reader", () => !isAlive(child));
      return [1];
    };
    expect(
      await rejectionOf(cutOne(reading, "a.md", note, {}, { ...cutting, countTokens: killed })),
    ).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining("it ended the process that read it"),
    });
    const counted = { ...cutting, countTokens: ones };
    expect(await cutOne(reading, "a.md", note, {}, counted)).toHaveLength(1);
  });

  test("that is ended by one of several documents fails that one, and reads the others", async () => {
    const { signal } = new AbortController();
    const texts = ["fine", "fatal", "fine too"];
    const documents = texts.map((text, at) => ({
      name: `${at}.md`,
      bytes: new TextEncoder().encode(text),
    }));
    documents.push({ name: "damaged.docx", bytes: note });
    const countTokens = async (asked: string[]): Promise<number[]> => {
      const [child = 0] = await childrenOf(process.pid);
      if (asked.includes("fatal")) process.kill(child, "SIGKILL");
      return asked.map(() => 1);
    };
    const cutting = { maxTokens: 12, overlapTokens: 0, signal, countTokens };
    expect(await reading.cut(documents, {}, cutting)).toEqual([
      [{ source: "fine", heading: "" }],
      expect.objectContaining({
        kind: "invalid_request",
        message: expect.stringContaining("it ended the process that read it"),
      }),
      [{ source: "fine too", heading: "" }],
      expect.objectContaining({ message: expect.stringContaining("is damaged") }),
    ]);
  });

  test.each<[string, { read_timeout?: number; read_memory?: number }]>([
    ["read_timeout", { read_timeout: 2 }],
    ["read_memory", { read_memory: 400 }],
  ])("ends at %s, and the next document is read", async (limit, bounds) => {
    await using reading = reader(bounds);
    bomb ??= wordFile("<w:p/>".repeat(5_000_000));
    const refusal = await rejectionOf(read(reading, "a.docx", await bomb, unbounded));
    expect(refusal).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining(`raise ingest.${limit}.`),
    });
    expect(await read(reading, "a.md", note, {})).toHaveLength(1);
  });
});

test("a document is read though this process was stopped for longer than read_timeout", async () => {
  await using reading = reader({ read_timeout: 2 });
  await read(reading, "a.md", note);
  const rows = Array.from({ length: 5000 }, (_, at) => `<p>Llama ${at} hums.</p>`).join("");
  const page = new TextEncoder().encode(`<html><body>${rows}</body></html>`);
  const reads = read(reading, "a.html", page);
  // To have the document sent.
  await Bun.sleep(1);
  Bun.sleepSync(3000);
  expect((await reads).length).toBeGreaterThan(0);
});

describe("a process that never begins to read", () => {
  const stuck = (read_timeout: number): ReadingProcess =>
    new ReadingProcess({
      program: { command: ["sh", "-c", "sleep 1000"], env: engineEnvironment(process.env) },
      ...{ read_timeout, read_memory: 2048 },
    });

  test("is ended after read_timeout", async () => {
    await using reading = stuck(1);
    expect(await rejectionOf(read(reading, "a.md", note))).toMatchObject({
      message: "The process that reads documents did not start.",
    });
  });

  test("is ended with the caller that gives it up", async () => {
    await using reading = stuck(3600);
    const gone = new AbortController();
    const { signal } = gone;
    const cutting = { maxTokens: 4096, overlapTokens: 0, signal, countTokens: ones };
    const refusal = rejectionOf(cutOne(reading, "a.md", note, {}, cutting));
    gone.abort(new Error("left"));
    expect(await refusal).toMatchObject({ message: "left" });
  });
});

test("a program that is away speaks against no document", async () => {
  await using reading = new ReadingProcess({
    program: { command: [join(import.meta.dir, "nowhere")], env: {} },
    ...{ read_timeout: 120, read_memory: 2048 },
  });
  expect(await rejectionOf(read(reading, "a.md", note))).toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("cannot be started"),
  });
});
