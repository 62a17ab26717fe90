import { describe, expect, mock, test } from "bun:test";
import { NodeError } from "../../../src/core/errors.ts";
import { namedEvent, namedEvents } from "../../../src/server/event-format.ts";
import { StreamBuffers } from "../../../src/server/sse.ts";
import { aborted } from "../../support/aborted.ts";
import { streamOf } from "../../support/stream-of.ts";
import { waitFor } from "../../support/wait-for.ts";

/** The frames in order; an error among them is thrown, a promise waited for. */
function source(...steps: (string | Error | Promise<void>)[]) {
  const state = { made: 0, ended: false };
  async function* frames(): AsyncGenerator<string> {
    try {
      for (const step of steps) {
        if (step instanceof Error) throw step;
        if (step instanceof Promise) await step;
        else {
          state.made++;
          yield step;
        }
      }
    } finally {
      state.ended = true;
    }
  }
  return { state, frames: frames() };
}

function listeners() {
  return { onCancel: mock((_: unknown) => {}), onError: mock((_: unknown) => {}) };
}

function readerOf(response: Response) {
  if (response.body === null) throw new Error("The response has no body");
  return response.body.getReader();
}

describe("an event stream", () => {
  test("sends each frame as it is, then [DONE]", async () => {
    const heard = listeners();
    const response = await streamOf(source("one", '{"two":"zwölf"}').frames, heard);
    expect(await response.text()).toBe('data: one\n\ndata: {"two":"zwölf"}\n\ndata: [DONE]\n\n');
    expect([heard.onCancel.mock.calls, heard.onError.mock.calls]).toEqual([[], []]);
  });

  test("sends only [DONE] when there is no frame", async () => {
    const response = await streamOf(source().frames, listeners());
    expect(await response.text()).toBe("data: [DONE]\n\n");
  });

  test("writes named events as they come, and a failure in their own form", async () => {
    const format = namedEvents(({ message }) => namedEvent("error", { message }));
    const heard = listeners();
    const whole = source(namedEvent("begin", { n: 1 }), namedEvent("end", { n: 2 }));
    expect(await (await streamOf(whole.frames, { ...heard, format })).text()).toBe(
      'event: begin\ndata: {"n":1}\n\nevent: end\ndata: {"n":2}\n\n',
    );
    const broken = source(namedEvent("begin", {}), new NodeError("unavailable", "Gone."));
    expect(await (await streamOf(broken.frames, { ...heard, format })).text()).toBe(
      'event: begin\ndata: {}\n\nevent: error\ndata: {"message":"Gone."}\n\n',
    );
    expect(heard.onError).toHaveBeenCalledTimes(1);
  });

  test("tells caches and proxies to hold nothing back", async () => {
    const { status, headers } = await streamOf(source("one").frames, listeners());
    expect({
      status,
      type: headers.get("content-type"),
      cache: headers.get("cache-control"),
      buffering: headers.get("x-accel-buffering"),
    }).toEqual({
      status: 200,
      type: "text/event-stream; charset=utf-8",
      cache: "no-cache",
      buffering: "no",
    });
  });

  test("is made to its end while its reader takes nothing, which has it all later", async () => {
    const { state, frames } = source("one", "two", "three");
    const onEnd = mock(() => {});
    const response = await streamOf(frames, { ...listeners(), onEnd });
    await waitFor("the frames' end", () => state.ended);
    expect(onEnd).not.toHaveBeenCalled();
    expect(await response.text()).toBe("data: one\n\ndata: two\n\ndata: three\n\ndata: [DONE]\n\n");
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  test("is made no further than to a bound while its reader takes nothing", async () => {
    const large = "x".repeat(1 << 17);
    const { state, frames } = source(...Array.from({ length: 20 }, () => large));
    const response = await streamOf(frames, listeners());
    await Bun.sleep(0);
    expect(state).toEqual({ made: 8, ended: false });
    expect((await response.text()).length).toBeGreaterThan(20 * large.length);
    expect(state).toEqual({ made: 20, ended: true });
  });

  test("goes on being made as soon as there is room again", async () => {
    const large = "x".repeat(1 << 17);
    const { state, frames } = source(...Array.from({ length: 12 }, () => large));
    const reader = readerOf(await streamOf(frames, listeners()));
    await Bun.sleep(0);
    expect(state.made).toBe(8);
    await reader.read();
    await Bun.sleep(0);
    expect(state).toEqual({ made: 12, ended: true });
    await reader.cancel();
  });

  test("has a bound together with others, within which each that is read goes on", async () => {
    const buffers = new StreamBuffers();
    const large = "x".repeat(1 << 19);
    const streams = Array.from({ length: 40 }, () =>
      source(...Array.from({ length: 3 }, () => large)),
    );
    const responses: Response[] = [];
    for (const { frames } of streams) {
      responses.push(await streamOf(frames, { ...listeners(), buffers }));
    }
    await Bun.sleep(0);
    const made = (): number => streams.reduce((sum, { state }) => sum + state.made, 0);
    // As many as there is room for, and the first one of each.
    expect(made()).toBeGreaterThanOrEqual(64);
    expect(made()).toBeLessThanOrEqual(64 + streams.length);
    for (const response of responses.toReversed()) await response.text();
    expect(made()).toBe(40 * 3);
  });
});

describe("a failure", () => {
  test("before the first frame is thrown, so that it can be a status", async () => {
    const heard = listeners();
    const failure = new NodeError("context_length_exceeded", "Too long.");
    await expect(streamOf(source(failure, "one").frames, heard)).rejects.toBe(failure);
    expect(heard.onError).not.toHaveBeenCalled();
  });

  test("later becomes an error frame, and no [DONE] follows", async () => {
    const heard = listeners();
    const failure = new NodeError("unavailable", "The model went away.");
    const response = await streamOf(source("one", failure, "two").frames, heard);
    const body = {
      error: {
        message: "The model went away.",
        type: "server_error",
        param: null,
        code: "unavailable",
      },
    };
    expect(await response.text()).toBe(`data: one\n\ndata: ${JSON.stringify(body)}\n\n`);
    expect(heard.onError.mock.calls).toEqual([[failure]]);
  });

  test("that nobody foresaw says nothing of its inside", async () => {
    const response = await streamOf(source("one", new Error("secret inside")).frames, listeners());
    const text = await response.text();
    expect(text).toContain('"code":"internal_error"');
    expect(text).not.toContain("secret inside");
  });
});

describe("a reader that leaves", () => {
  test("ends what makes the frames", async () => {
    const gate = Promise.withResolvers<void>();
    const { state, frames } = source("one", gate.promise, "two", "three");
    const heard = listeners();
    const reader = readerOf(await streamOf(frames, heard));
    await reader.read();
    const cancelled = reader.cancel("enough");
    gate.resolve();
    await cancelled;
    expect(heard.onCancel.mock.calls).toEqual([["enough"]]);
    // The one that was being made.
    expect(state).toEqual({ made: 2, ended: true });
  });

  test("ends it even before the first read", async () => {
    const gate = Promise.withResolvers<void>();
    const { state, frames } = source("one", gate.promise, "two", "three");
    const response = await streamOf(frames, listeners());
    const cancelled = response.body?.cancel();
    gate.resolve();
    await cancelled;
    expect(state).toEqual({ made: 2, ended: true });
  });

  test("is not a failure, even while a frame is being made", async () => {
    const gate = Promise.withResolvers<void>();
    const { state, frames } = source("one", gate.promise, "two", "three");
    const heard = listeners();
    const reader = readerOf(await streamOf(frames, heard));
    await reader.read();
    const pending = reader.read();
    const cancelled = reader.cancel("enough");
    expect(heard.onCancel).toHaveBeenCalledTimes(1);
    gate.resolve();
    await Promise.all([pending, cancelled]);
    await waitFor("the frames' end", () => state.ended);
    expect(heard.onError.mock.calls).toEqual([]);
  });
});

describe("a stream whose time is up", () => {
  test("lets go of what makes its frames though nobody reads, and says why to who reads on", async () => {
    const time = new AbortController();
    const heard: string[] = [];
    async function* frames(): AsyncGenerator<string> {
      try {
        yield "one";
        await aborted(time.signal);
        yield "two";
      } finally {
        heard.push("let go");
      }
    }
    const response = await streamOf(frames(), {
      signal: time.signal,
      onCancel: () => heard.push("cancelled"),
      onError: () => heard.push("failed"),
      onEnd: () => heard.push("ended"),
    });
    time.abort(new NodeError("timeout", "Its time is up."));
    await Bun.sleep(0);
    expect(heard).toEqual(["failed", "let go", "ended"]);
    const text = await response.text();
    expect(text).toContain("Its time is up.");
    expect(text).not.toContain("[DONE]");
    expect(heard).toEqual(["failed", "let go", "ended"]);
  });
});

describe("a reader that takes nothing", () => {
  test("loses its answer after a while, and is told why if it reads on", async () => {
    const large = "x".repeat(1 << 20);
    const { state, frames } = source("one", large, "three");
    const heard = listeners();
    const onStall = mock((_: NodeError) => {});
    const onEnd = mock(() => {});
    const response = await streamOf(frames, { ...heard, onStall, onEnd, stallMs: 5 });
    const reader = readerOf(response);
    await waitFor("the end", () => onEnd.mock.calls.length === 1);
    expect(onStall.mock.calls).toMatchObject([[{ kind: "client_stalled" }]]);
    expect(state).toEqual({ made: 2, ended: true });
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toContain('"code":"client_stalled"');
    expect((await reader.read()).done).toBe(true);
    expect([heard.onError.mock.calls, heard.onCancel.mock.calls]).toEqual([[], []]);
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  test("is told apart from one that waits for a slow model", async () => {
    const gate = Promise.withResolvers<void>();
    const { frames } = source("one", gate.promise, "two");
    const onStall = mock((_: NodeError) => {});
    const options = { ...listeners(), onStall, keepAliveMs: 20, stallMs: 10 };
    const reader = readerOf(await streamOf(frames, options));
    await reader.read();
    // Each comment comes later than a reader may take nothing.
    for (let comments = 0; comments < 3; comments++) {
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(": waiting\n\n");
    }
    gate.resolve();
    expect(new TextDecoder().decode((await reader.read()).value)).toStartWith("data: two\n\n");
    expect(onStall).not.toHaveBeenCalled();
    await reader.cancel();
  });
});
