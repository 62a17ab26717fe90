import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { type TestAppOptions, testApp } from "../support/test-app.ts";

const keys = ["first-good-key", "second-good-key"];
const body = { model: "chatty", messages: [{ role: "user", content: "q" }] };

/** The scopes of the prompts that each key sends, one after the other. */
async function scopesOf(options: TestAppOptions, asking = keys): Promise<(string | undefined)[]> {
  const app = testApp(options);
  for (const key of asking) {
    app.chat.script({ type: "text", text: "a" }, finish);
    const answer = await app.post("/v1/chat/completions", body, { authorization: `Bearer ${key}` });
    expect(answer.status).toBe(200);
  }
  return app.chat.prefixScopes;
}

describe("evaluated prompts", () => {
  test("are shared among those of one key alone", async () => {
    const [first, again, second] = await scopesOf({ keys }, [...keys.slice(0, 1), ...keys]);
    expect(first).toBeDefined();
    expect(again).toBe(first);
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
  });

  test("are shared among everybody's where there are no keys", async () => {
    expect(await scopesOf({})).toEqual([undefined, undefined]);
  });

  test("are shared among all keys where the node is told to", async () => {
    expect(await scopesOf({ keys, sharePrefixes: true })).toEqual([undefined, undefined]);
  });
});
