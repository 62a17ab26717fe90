import { describe, expect, test } from "bun:test";
import type { FileObject } from "../../../../src/client/wire.ts";
import {
  refusalOf,
  sentName,
  UploadQueue,
  type UploadSteps,
} from "../../../../src/web/documents/upload-queue.ts";
import { onAbort } from "../../../support/aborted.ts";

const store = { id: "vs_1", name: "Recipes" };
const file = (name: string): File => new File(["text"], name);

const sent = (name: string): FileObject => ({
  ...{ id: `file-${name}`, object: "file", bytes: 4, created_at: 0, filename: name },
  ...{ purpose: "assistants", status: "processed", sha256: "", content_type: "text/plain" },
});

interface Going {
  name: string;
  end: (error?: Error) => void;
  progress: (bytes: number) => void;
}

/** Steps that a test carries out by hand. */
function steps(change: Partial<UploadSteps> = {}) {
  const going: Going[] = [];
  const log: string[] = [];
  const made: UploadSteps = {
    refusalOf: () => undefined,
    send: ({ name }, { signal, onProgress }) => {
      const { promise, resolve, reject } = Promise.withResolvers<FileObject>();
      onAbort(signal, () => reject(signal.reason));
      const end = (error?: Error): void =>
        error === undefined ? resolve(sent(name)) : reject(error);
      going.push({ name, end, progress: onProgress });
      return promise;
    },
    add: async (id, { filename }) => void log.push(`add ${filename} to ${id}`),
    discard: ({ filename }) => void log.push(`discard ${filename}`),
    failureOf: (error) => ({ message: String(error), canRetry: true }),
    onAdded: () => {},
    onRest: (added, failed) => void log.push(`rest: ${added} added, ${failed.length} failed`),
    ...change,
  };
  const queue = new UploadQueue(made);
  const states = () => queue.uploads.value.map((one) => `${one.file.name} ${one.state}`);
  return { queue, going, log, states };
}

/** Until what was settled has been noticed. */
const turn = () => new Promise((resolve) => setTimeout(resolve));

describe("uploads", () => {
  test("go two at a time, tell how far they are, and leave when they are in", async () => {
    const { queue, going, log, states } = steps();
    queue.give(["a", "b", "c"].map(file), store);
    expect(states()).toEqual(["a sending", "b sending", "c waiting"]);
    going[0]?.progress(3);
    expect(queue.uploads.value[0]?.sentBytes).toBe(3);
    going[0]?.end();
    await turn();
    expect(states()).toEqual(["b sending", "c sending"]);
    going[1]?.end();
    going[2]?.end();
    await turn();
    expect(states()).toEqual([]);
    expect(log).toEqual([
      ...["a", "b", "c"].map((name) => `add ${name} to vs_1`),
      "rest: 3 added, 0 failed",
    ]);
  });

  test("that failed stay, and can be tried again", async () => {
    const { queue, going, states } = steps();
    queue.give([file("a")], store);
    going[0]?.end(new Error("gone"));
    await turn();
    expect(states()).toEqual(["a failed"]);
    expect(queue.failed.value[0]?.failure?.message).toBe("Error: gone");
    queue.retry(...queue.uploads.value);
    expect(states()).toEqual(["a sending"]);
    expect(queue.uploads.value[0]?.failure).toBeUndefined();
    going[1]?.end();
    await turn();
    expect(states()).toEqual([]);
  });

  test("are not sent twice where only adding failed; what is dismissed is deleted", async () => {
    let refusals = 2;
    const { queue, going, log, states } = steps({
      add: async () => {
        refusals--;
        if (refusals >= 0) throw new Error("full");
      },
    });
    queue.give([file("a"), file("b")], store);
    for (const { end } of going) end();
    await turn();
    expect(states()).toEqual(["a failed", "b failed"]);
    const [first, second] = queue.uploads.value;
    if (first !== undefined) queue.retry(first);
    await turn();
    if (second !== undefined) queue.drop(second);
    expect([going.length, states()]).toEqual([2, []]);
    expect(log).toContain("discard b");
    expect(log).not.toContain("discard a");
  });

  test("that are cancelled make room for the next", async () => {
    const { queue, going, states } = steps();
    queue.give(["a", "b", "c"].map(file), store);
    queue.drop(...queue.uploads.value.slice(0, 1));
    await turn();
    expect(states()).toEqual(["b sending", "c sending"]);
    expect(going.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  test("that the page refuses are not sent, and not tried again", async () => {
    const { queue, going, states } = steps({ refusalOf: () => "It is empty." });
    queue.give([file("a")], store);
    queue.retry(...queue.uploads.value);
    await turn();
    expect([states(), going]).toEqual([["a failed"], []]);
    expect(queue.failed.value[0]?.failure).toEqual({ message: "It is empty.", canRetry: false });
  });
});

describe("a file before it is sent", () => {
  test.each([
    [0, 100, "It is empty: there is nothing to read in it."],
    [0, undefined, "It is empty: there is nothing to read in it."],
    [101, 100, "It has 101 bytes, and this node takes files of at most 100 bytes."],
    [100, 100, undefined],
    [1e12, undefined, undefined],
  ])("of %p bytes, where %p may be sent", (size, most, refusal) => {
    expect(refusalOf({ size }, most)).toBe(refusal);
  });

  test.each([
    ["notes.md", "notes.md"],
    ["می\u200cخواهم.pdf", "میخواهم.pdf"],
    ["gpj.\u202eevil.exe", "gpj.evil.exe"],
    ["a\nb\u0000.md", "ab.md"],
    ['say "hi".md', "say 'hi'.md"],
    ["e\u0301.md", "\u00e9.md"],
    ["\ud800.md", "\ufffd.md"],
    ["\u200b", "document"],
    ["..", "document"],
    [`${"x".repeat(300)}.docx`, `${"x".repeat(195)}.docx`],
    [`${"x".repeat(194)}😀${"x".repeat(9)}.docx`, `${"x".repeat(194)}\ufffd.docx`],
  ])("is sent under a name that the node takes: %j", (name, sent) => {
    expect(sentName(name)).toBe(sent);
  });
});
