import { describe, expect, setSystemTime, test } from "bun:test";
import { sentError } from "../../../../src/client/api-error.ts";
import type { Subject } from "../../../../src/core/errors.ts";
import { statusOf, toRefusal } from "../../../../src/gateway/upstream/refusal.ts";

const about = { named: "the model 'far'", field: "messages" } as const;
const operator = "The node's operator can correct it; the log says more.";

const refusal = (status: number, body?: unknown, retryAfter?: string) => {
  const { kind, message, param, subject, retryAfterMs } = toRefusal(
    { status, body, retryAfter },
    about,
  );
  return { kind, message, param, subject, retryAfterMs };
};

test.each(["__proto__", "constructor", "toString"])(
  "an error in a stream whose code is '%s' is a failure of the server",
  (code) => {
    expect(statusOf(sentError({ error: { message: "No.", code } }))).toBe(500);
  },
);

describe("what a server elsewhere refuses", () => {
  test.each([
    [
      "vLLM",
      400,
      {
        error: {
          message: "top_p must be in (0, 1].",
          type: "BadRequestError",
          param: "top_p",
          code: 400,
        },
      },
      "top_p",
    ],
    [
      "vLLM's name for it",
      400,
      {
        error: { message: "No.", type: "BadRequestError", param: "repetition_penalty", code: 400 },
      },
      "repeat_penalty",
    ],
    [
      "an older vLLM",
      400,
      { object: "error", message: "No.", type: "BadRequestError", param: "seed", code: 400 },
      "seed",
    ],
    [
      "llama-server",
      400,
      {
        error: {
          code: 400,
          message: "Field 'temperature': type must be number",
          type: "invalid_request_error",
        },
      },
      "temperature",
    ],
    ["FastAPI", 422, { detail: [{ loc: ["body", "top_p"], msg: "not a number" }] }, "top_p"],
    ["TEI", 422, { error: "Tokenization error", error_type: "Tokenizer" }, undefined],
  ])("stays a refusal of the request, with its field: %s", (_, status, body, param) => {
    expect(refusal(status, body)).toMatchObject({ kind: "invalid_request", param });
  });

  test.each<[string, Subject]>([
    ["messages[2].content", { part: "messages", at: 2, inside: ".content" }],
    ["messages.0.role", { part: "messages", inside: ".0.role" }],
    ["tools[1].function.parameters", { part: "tools", at: 1 }],
    [`messages[${"1".repeat(400)}]`, { part: "messages", inside: `[${"1".repeat(400)}]` }],
    ["response_format.json_schema.schema.type", { part: "schema", inside: ".type" }],
    ["response_format", { part: "format" }],
    ["max_completion_tokens", { part: "max tokens" }],
  ])("is about a part of the chat that each API has its own field for: %s", (param, subject) => {
    const error = { message: "No.", type: "BadRequestError", param, code: 400 };
    expect(refusal(400, { error })).toMatchObject({ param: undefined, subject });
  });

  test.each([
    ['File "/usr/lib/python3/vllm/engine.py", line 12: no', 'File "…", line 12: no'],
    ["cannot open /srv/models/llama.gguf", "cannot open …"],
    ["/app/src/llama.cpp:123: failed (~/cache/a/b)", "…:123: failed (…)"],
    ["in C:\\Users\\ann\\model.bin and \\\\nas\\models\\a", "in … and …"],
    ["at file:///opt/llm/a.json, vllm/entrypoints/api_server.py", "at …, …"],
    ["Incorrect API key: sk-proj-a1B2c3D4e5F6.", "Incorrect API key: …."],
    ["for Bearer abcdefgh1234, hf_abcdefghijkl", "for Bearer …, …"],
    ["cannot open /model.gguf, ~/x.gguf or ../models/a", "cannot open …, … or …"],
    ["in /srv/modèle/llama-ü and /srv//models/llama", "in … and …"],
    ["No.\nTraceback (most recent call last):\n  File x, line 3, in run", "No.\n…"],
    ["No.\n    at run (engine.ts:12:3)\n    at next", "No.…"],
    ["cannot open //srv/models/llama", "cannot open …"],
    ["No.\n\tat org.acme.Run.run(Run.java:12)\n\tat org.acme.Run.main(Native Method)", "No.…"],
    ["No.\n\tat java.base/a.B.<init>(Native Method)\n\tat a.C.d(C.java:1)", "No.…"],
    ["No.\ngoroutine 1 [running]:\nmain.main()", "No.…"],
    ["No.\nstack backtrace:\n   0: begin_unwind", "No.…"],
    // None of these is a file, a stack or a key.
    ["No.\n  at least (or at most) 3, https://host//docs/a", undefined],
    ["refused at position 3\n  at index 4", undefined],
    ["'sk-learn' and 'risk-based-approach'", undefined],
    ["'application/json' and/or #/properties/a/b, see https://host/docs/a", undefined],
    ["a / b, 1/2/3, org/model-7b, </tool_call>, /no_think", undefined],
  ])("says nothing of the server's files and keys: %s", (message, shown) => {
    const error = { message, type: "BadRequestError", code: 400 };
    expect(refusal(400, { error }).message).toBe(shown ?? message);
  });

  test("names no file as the field", () => {
    const error = { message: "No.", type: "BadRequestError", code: 400 };
    const named = refusal(400, { error: { ...error, param: "/srv/models/llama" } });
    expect(named).toMatchObject({ param: "…" });
  });

  test.each([
    [
      "OpenAI",
      400,
      { error: { message: "Too long.", code: "context_length_exceeded", param: "messages" } },
    ],
    [
      "vLLM",
      400,
      {
        error: {
          message:
            "This model's maximum context length is 40960 tokens. However, you requested 50000 tokens.",
          type: "BadRequestError",
          param: null,
          code: 400,
        },
      },
    ],
    [
      "llama-server",
      400,
      {
        error: {
          code: 400,
          message: "request (9029 tokens) exceeds the available context size (1024 tokens)",
          type: "exceed_context_size_error",
        },
      },
    ],
    [
      "TEI",
      413,
      {
        message: "`inputs` must have less than 512 tokens. Given: 600",
        code: 413,
        error_type: "Validation",
      },
    ],
  ])("is known as too long a prompt: %s", (_, status, body) => {
    expect(refusal(status, body)).toMatchObject({
      kind: "context_length_exceeded",
      subject: { part: "messages" },
    });
  });

  test.each([401, 403])("is never the caller's key: %i", (status) => {
    const { kind, message } = refusal(status, { error: { message: "Incorrect API key: sk-1234" } });
    expect(kind).toBe("upstream_refused");
    expect(message).toStartWith("The server of the model 'far' does not ");
    expect(message).toEndWith(operator);
    expect(message).not.toContain("sk-1234");
  });

  test.each([
    [
      404,
      {
        error: {
          message: "The model `far` does not exist.",
          type: "NotFoundError",
          param: "model",
          code: 404,
        },
      },
    ],
    [
      500,
      {
        error: {
          message: "The model 'far' is not on this node.",
          code: "model_not_found",
          param: "model",
        },
      },
    ],
  ])("is a matter of the configuration where it does not know the model: %i", (status, body) => {
    expect(refusal(status, body)).toEqual({
      kind: "upstream_refused",
      message: `The server of the model 'far' does not know a model of the name that it is asked for. ${operator}`,
      param: undefined,
      subject: undefined,
      retryAfterMs: undefined,
    });
  });

  test.each([302, 404, 405, 501])("is a matter of the configuration: %i", (status) => {
    expect(refusal(status)).toMatchObject({ kind: "upstream_refused" });
  });

  test.each([
    [429, undefined, "too_many_requests"],
    [503, undefined, "unavailable"],
    [503, { error: { message: "Busy.", code: "queue_full" } }, "overloaded"],
    [503, { error: { message: "Wait.", code: "model_not_ready" } }, "model_not_ready"],
  ] as const)("keeps when to ask again: %i %o", (status, body, kind) => {
    expect(refusal(status, body, "17")).toMatchObject({ kind, retryAfterMs: 17_000 });
    expect(refusal(status, body)).toMatchObject({ kind, retryAfterMs: undefined });
    expect(refusal(status, body, "soon").retryAfterMs).toBeUndefined();
    setSystemTime(new Date("2026-11-16T12:00:00Z"));
    const date = refusal(status, body, "Mon, 16 Nov 2026 12:00:30 GMT");
    setSystemTime();
    expect(date.retryAfterMs).toBe(30_000);
  });

  test.each([
    [500, "upstream_failed"],
    [502, "upstream_failed"],
    [504, "timeout"],
    [418, "upstream_failed"],
    [413, "payload_too_large"],
  ])("%i is %s, and says nothing of the inside", (status, kind) => {
    const { message, ...rest } = refusal(status, { error: { message: "CUDA out of memory" } });
    expect<string>(rest.kind).toBe(kind);
    expect(message).not.toContain("CUDA");
  });
});
