import { describe, expect, test } from "bun:test";
import { ApiClient } from "../../../src/client/api-client.ts";
import { ApiError } from "../../../src/client/api-error.ts";
import {
  endlessStream,
  frame,
  openAiServer,
  type Script,
  streamOf,
} from "../../support/openai-server.ts";
import { rejectionOf } from "../../support/rejection.ts";

const request = { model: "m", messages: [{ role: "user" as const, content: "q" }] };

async function errorOf(asked: Promise<unknown>): Promise<ApiError> {
  const error = await rejectionOf(asked);
  if (error instanceof ApiError) return error;
  throw error;
}

/** A client of a server that answers by a script. */
function clientOf(script: Script, key?: string) {
  const server = openAiServer(script);
  const client = new ApiClient({
    baseUrl: `${server.url}/v1`,
    key: () => key,
    redirect: "manual",
  });
  return { client, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("a request", () => {
  test("carries the key and, where it has a body, JSON without undefined fields", async () => {
    await using run = clientOf(() => Response.json({ points: [] }), "secret");
    const { client, server } = run;
    await client.retrieve({ ...request, limit: undefined, include_metadata: true });
    await client.info();
    expect(server.asked).toEqual([
      {
        method: "POST",
        path: "/v1/retrieve",
        key: "Bearer secret",
        body: { ...request, include_metadata: true },
      },
      { method: "GET", path: "/v1/info", key: "Bearer secret", body: undefined },
    ]);
  });

  test("goes beside /v1 for readiness and metrics, without a key where there is none", async () => {
    const readiness = { status: "not ready", reasons: ["Not yet."] };
    await using run = clientOf(({ path }) =>
      path === "/ready" ? Response.json(readiness, { status: 503 }) : new Response("metric 1\n"),
    );
    const { client, server } = run;
    expect(await client.readiness()).toEqual({ status: "not ready", reasons: ["Not yet."] });
    expect(await client.metrics()).toBe("metric 1\n");
    expect(server.asked.map(({ path, key }) => [path, key])).toEqual([
      ["/ready", null],
      ["/metrics", null],
    ]);
  });

  test("that is aborted ends with the signal's reason, which is no error of the API", async () => {
    await using run = clientOf(() => Response.json({}));
    const reason = new Error("enough");
    expect(await rejectionOf(run.client.models({ signal: AbortSignal.abort(reason) }))).toBe(
      reason,
    );
  });
});

describe("an error", () => {
  const full = {
    error: { message: "Full.", type: "server_error", param: "messages", code: "queue_full" },
  };
  const wordless = ["The server answered with status 503.", null, null, undefined];

  test.each([
    ["the server's fields", full, ["Full.", "queue_full", "messages", "Full."]],
    ["a bare text", { error: "Gone." }, ["Gone.", null, null, "Gone."]],
    ["no words", { error: { message: null } }, wordless],
    ["no JSON", "<html>", wordless],
  ])("has its status, its headers and %s", async (_, body, said) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const headers = { "retry-after": "7" };
    await using run = clientOf(() => new Response(text, { status: 503, headers }));
    const error = await errorOf(run.client.models());
    const { kind, status, message, code, param, serverMessage } = error;
    expect([kind, status, error.headers?.get("retry-after")]).toEqual(["status", 503, "7"]);
    expect([message, code, param, serverMessage]).toEqual(said);
  });

  test("is a redirect, so that the key goes to no other server", async () => {
    const location = "http://127.0.0.1:9/v1";
    const moved = () => new Response(null, { status: 308, headers: { location } });
    await using run = clientOf(moved, "secret");
    const { status, headers } = await errorOf(run.client.models());
    expect([status, headers?.get("location")]).toEqual([308, location]);
  });

  test("says when nothing answers, and when what answers sends no JSON", async () => {
    const nobody = new ApiClient({ baseUrl: "http://127.0.0.1:9/v1" });
    expect(await errorOf(nobody.models())).toMatchObject({
      kind: "unreachable",
      status: undefined,
    });
    await using run = clientOf(() => new Response("<html>"));
    expect(await errorOf(run.client.info())).toMatchObject({ kind: "not_json", status: 200 });
  });
});

describe("a streamed chat", () => {
  const textOf = async (client: ApiClient): Promise<string> => {
    let text = "";
    for await (const { choices } of await client.streamChat(request)) {
      for (const { delta } of choices) text += delta.content ?? "";
    }
    return text;
  };

  test("gives its chunks, and ends at [DONE]", async () => {
    await using run = clientOf(() =>
      streamOf([frame("a"), frame("b", "stop"), "data: [DONE]\n\n", frame("c")]),
    );
    expect(await textOf(run.client)).toBe("ab");
    expect(run.server.asked[0]?.body).toEqual({ ...request, stream: true });
  });

  test("is rejected before its first chunk where the status is no success", async () => {
    await using run = clientOf(() => Response.json({ error: "No." }, { status: 400 }));
    expect(await errorOf(run.client.streamChat(request))).toMatchObject({ status: 400 });
  });

  test.each([
    ["ends without [DONE], though finished", [frame("a", "stop")], "stream_interrupted"],
    ["is empty", [], "stream_interrupted"],
    ["holds no JSON", ["data: <html>\n\n"], "not_json"],
  ] as const)("fails where it %s", async (_, frames, kind) => {
    await using run = clientOf(() => streamOf(frames));
    expect((await errorOf(textOf(run.client))).kind).toBe(kind);
  });

  test("fails with the error that the server sent midway", async () => {
    const error = {
      message: "It took too long.",
      type: "server_error",
      param: null,
      code: "timeout",
    };
    await using run = clientOf(() =>
      streamOf([frame("a"), `data: ${JSON.stringify({ error })}\n\n`, "data: [DONE]\n\n"]),
    );
    expect(await errorOf(textOf(run.client))).toMatchObject({
      kind: "stream_error",
      message: "It took too long.",
      code: "timeout",
      status: undefined,
    });
  });

  test("lets the connection go when its reader stops, and when it is aborted", async () => {
    const streams = [endlessStream("a"), endlessStream("a")];
    const [first, second] = streams;
    await using run = clientOf(() => streams.shift()?.response);
    for await (const _ of await run.client.streamChat(request)) break;
    await first?.left;
    const stop = new AbortController();
    const reason = new Error("enough");
    const read = async (): Promise<void> => {
      for await (const _ of await run.client.streamChat(request, { signal: stop.signal })) {
        stop.abort(reason);
      }
    };
    expect(await rejectionOf(read())).toBe(reason);
    await second?.left;
  });
});
