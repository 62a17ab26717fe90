import { describe, expect, test } from "bun:test";
import { Type as T } from "@sinclair/typebox";
import { NodeError } from "../../../../src/core/errors.ts";
import { UploadForm } from "../../../../src/server/middleware/multipart.ts";
import {
  type BodyLimits,
  RequestMemory,
  readBody,
} from "../../../../src/server/middleware/read-body.ts";
import { readRequest } from "../../../../src/server/middleware/read-request.ts";
import { defineOperation } from "../../../../src/server/operation.ts";
import { CountedTurns } from "../../../support/counted-turns.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { waitFor } from "../../../support/wait-for.ts";

const noForm = new UploadForm(
  new Request("http://localhost/"),
  { signal: new AbortController().signal },
  { maxFileBytes: 0, bodyTimeoutMs: 0 },
);

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;

const maxBytes = 32;
const Shape = T.Object({ size: T.Integer({ minimum: 0 }) }, { additionalProperties: false });

const operation = defineOperation({
  route: "POST /sizes",
  name: "sizes",
  operationId: "measure",
  summary: "Measure",
  tag: "Node",
  body: { name: "Shape", schema: Shape, example: { size: 1 }, logged: (body) => body },
  answer: { name: "Shape", schema: Shape, description: "The same." },
  handler: ({ body }) => ({ json: body }),
});

/** The body of a request as the pipeline reads it. */
const reader = (limits: BodyLimits) => async (given: Request) => {
  const bytes = await readBody(given, limits, new RequestMemory(() => 1 << 22).begin("ada"));
  return (await readRequest(operation, bytes, asked, lists, "ada")).logged();
};

const asked = { parameters: {}, query: new URLSearchParams(), form: noForm };
const lists = { maxMessages: 1, maxInputs: 1 };

const read = reader({ maxBodyBytes: maxBytes, bodyTimeoutMs: 30_000 });

function request(
  body: Body,
  headers: Record<string, string> = { "content-type": "application/json" },
): Request {
  return new Request("http://localhost/", { method: "POST", body, headers });
}

async function refusal(given: Request): Promise<[kind: string, param: unknown, message: string]> {
  try {
    await read(given);
  } catch (error) {
    if (error instanceof NodeError) return [error.kind, error.param, error.message];
    throw error;
  }
  throw new Error("The body was accepted");
}

describe("a JSON body", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    " application/json ;charset=UTF-8",
  ])("is read with the content type '%s'", async (type) => {
    expect(await read(request('{"size":0}', { "content-type": type }))).toEqual({ size: 0 });
  });

  test("may have exactly as many bytes as are allowed, and not one more", async () => {
    const fitting = '{"size":7}'.padEnd(maxBytes);
    expect(await read(request(fitting))).toEqual({ size: 7 });
    expect(await refusal(request(`${fitting} `))).toEqual([
      "payload_too_large",
      undefined,
      "The body is larger than the 32 bytes that this node takes.",
    ]);
  });

  test("is counted in bytes, not in characters", async () => {
    expect((await refusal(request(`"${"ä".repeat(maxBytes / 2)}"`)))[0]).toBe("payload_too_large");
  });

  test("is counted while it comes, whatever its announced length", async () => {
    let pulled = 0;
    let cancelled = false;
    const large = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        if (pulled === 100) controller.close();
        else controller.enqueue(new TextEncoder().encode("[[[[[[[["));
      },
      cancel() {
        cancelled = true;
      },
    });
    expect((await refusal(request(large)))[0]).toBe("payload_too_large");
    expect(cancelled).toBe(true);
    expect(pulled).toBeLessThan(10);
  });
});

describe("bodies of many fields that came together", () => {
  /** In which turn of the loop each is parsed, by their callers and in their order. */
  async function turnsOf(callers: readonly string[]): Promise<[caller: string, turn: number][]> {
    const body = new TextEncoder().encode(JSON.stringify({ size: 1, more: " ".repeat(20_000) }));
    const turns: [string, number][] = [];
    using turn = new CountedTurns();
    await Promise.all(
      callers.map((caller) => {
        const read: typeof operation.read = (_, given) => {
          turns.push([caller, turn.now]);
          return operation.read({ size: 1 }, given);
        };
        return readRequest({ ...operation, read }, body, asked, lists, caller);
      }),
    );
    return turns;
  }

  test("have a turn of the loop each", async () => {
    const turns = (await turnsOf(["ada", "ada", "ada", "ada"])).map(([, turn]) => turn);
    expect(new Set(turns).size).toBe(4);
  });

  test("have their turns by caller: one with many holds up nobody else", async () => {
    const callers = await turnsOf(["ada", "ada", "ada", "ada", "bob"]);
    expect(callers.map(([caller]) => caller)).toEqual(["ada", "bob", "ada", "ada", "ada"]);
  });
});

describe("the memory of requests", () => {
  const limits = { maxBodyBytes: 1 << 20, bodyTimeoutMs: 30_000 };
  const large = new Uint8Array(1 << 19);
  const refused = {
    kind: "overloaded",
    message: expect.stringContaining("Other requests in progress take all the memory"),
  };

  test("counts bodies that do not end, beside which a short one is read", async () => {
    const memory = new RequestMemory(() => 1 << 21);
    const take = (body: Body) => readBody(request(body), limits, memory.begin("ada"));
    const unfinished = () =>
      new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(large) });
    void take(unfinished());
    void take(unfinished());
    await waitFor("what came to be read", () => memory.held > 1 << 19);
    expect(await rejectionOf(take(large))).toMatchObject(refused);
    expect(await take('{"size":1}')).toHaveLength(10);
  });

  test("counts until the request has ended", async () => {
    const memory = new RequestMemory(() => 1 << 20);
    const first = memory.begin("ada");
    await readBody(request(large), limits, first);
    expect(memory.held).toBeGreaterThan(1 << 18);
    expect(() => memory.begin("ada").add(1 << 19)).toThrow(expect.objectContaining(refused));
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(memory.held).toBe(0);
    memory.begin("ada").add(1 << 19);
  });

  test("leaves to others as much as a caller holds", () => {
    const memory = new RequestMemory(() => 1 << 22);
    const fill = (caller: string): number => {
      for (let count = 0; ; count++) {
        try {
          memory.begin(caller).add(1 << 18);
        } catch {
          return count;
        }
      }
    };
    const counts = ["ada", "bob", "cleo"].map(fill);
    expect(counts).toEqual([10, 5, 3]);
  });
});

describe("a body that comes slowly", () => {
  const hurried = reader({ maxBodyBytes: maxBytes, bodyTimeoutMs: 20 });
  const late = {
    kind: "body_timeout",
    message:
      "The body did not arrive within the 0.02 s that this node waits for it (limits.body_timeout).",
  };

  test("is refused when its time is up, and what is to come is not wanted", async () => {
    const cancelled = Promise.withResolvers<void>();
    const silent = new ReadableStream<Uint8Array>({ cancel: () => cancelled.resolve() });
    await expect(hurried(request(silent))).rejects.toMatchObject(late);
    await cancelled.promise;
  });

  test("is refused also where something always comes", async () => {
    const trickle = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await Bun.sleep(1);
        controller.enqueue(new Uint8Array());
      },
    });
    await expect(hurried(request(trickle))).rejects.toMatchObject(late);
  });
});

test.each([
  ["lists", "[".repeat(100_000) + "]".repeat(100_000)],
  ["objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
])("a body of %s 100,000 deep is refused", async (_, nested) => {
  const roomy = reader({ maxBodyBytes: 1 << 20, bodyTimeoutMs: 30_000 });
  await expect(roomy(request(`{"size":${nested}}`))).rejects.toMatchObject({
    kind: "invalid_request",
    param: "size",
    message: "'size' is nested too deep: a body may have 256 levels.",
  });
});

describe("a body that is refused", () => {
  test.each<[string, Record<string, string>, string]>([
    ["of another type", { "content-type": "text/plain" }, "found 'text/plain'."],
    ["of a type that only resembles", { "content-type": "application/jsonl" }, "jsonl'."],
    ["of no type", {}, "found no content type."],
  ])("is %s", async (_, headers, found) => {
    const bytes = new TextEncoder().encode('{"size":1}'); // bytes bring no type of their own
    const [kind, param, message] = await refusal(request(bytes, headers));
    expect([kind, param]).toEqual(["unsupported_media_type", undefined]);
    expect(message).toEndWith(found);
  });

  test.each<[string, Body, string]>([
    ["missing", null, "The body is empty; a JSON object is needed."],
    ["blank", " \n", "The body is empty; a JSON object is needed."],
    ["not JSON", '{"secret": tru', "The body is not valid JSON."],
    ["not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "The body is not valid UTF-8."],
    ["null", "null", "The body must be an object; found null."],
    ["a list", "[1]", "The body must be an object; found a list of 1."],
  ])("is %s", async (_, body, message) => {
    expect(await refusal(request(body))).toEqual(["invalid_request", undefined, message]);
  });

  test.each([
    ["{}", "size", "'size' is required: an integer of at least 0."],
    ['{"size":-1}', "size", "'size' must be an integer of at least 0; found -1."],
    ['{"size":1,"siez":2}', "siez", "'siez' is not known here. Known are: size."],
  ])("names the field at fault: %s", async (body, param, message) => {
    expect(await refusal(request(body))).toEqual(["invalid_request", param, message]);
  });
});
