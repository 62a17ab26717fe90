import { describe, expect, test } from "bun:test";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const path = "/v1/chat/completions";
const body = { model: "chatty", messages: [{ role: "user", content: "q" }] };
const text = { type: "text", text: "Hi" } as const;

/** The names of the header's times, each of which must be a number. */
function timed(response: Response): string[] {
  const parts = (response.headers.get("server-timing") ?? "").split(", ");
  return parts.map((part) => {
    const [, name = ""] = /^(\w+);dur=\d+\.\d$/.exec(part) ?? [];
    expect(name).not.toBe("");
    return name;
  });
}

describe("Server-Timing", () => {
  test("says how long an answer waited, came to its first token and took", async () => {
    const app = testApp();
    app.chat.script(text, finish);
    expect(timed(await app.post(path, body))).toEqual(["queue", "first", "total"]);
  });

  test("says on a stream what is known when it begins", async () => {
    const app = testApp();
    app.chat.script(text, finish);
    expect(timed(await app.post(path, { ...body, stream: true }))).toEqual(["queue", "first"]);
  });

  test("says how long retrieval took", async () => {
    const app = testApp();
    await app.repository.upsert([passage(1, [1, 1])]);
    app.chat.script(text, finish);
    const grounded = await app.post(path, { ...body, rag: true });
    expect(timed(grounded)).toEqual(["queue", "retrieval", "first", "total"]);
    const found = await app.post("/v1/retrieve", { ...body, model: "vectors" });
    expect(timed(found)).toEqual(["queue", "retrieval", "total"]);
  });

  test("is on every other answer", async () => {
    const app = testApp();
    const embedded = await app.post("/v1/embeddings", { model: "vectors", input: "a" });
    expect(timed(embedded)).toEqual(["queue", "total"]);
    expect(timed(await app.get("/v1/models"))).toEqual(["total"]);
  });
});
