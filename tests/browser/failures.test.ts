import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { NodeError } from "../../src/core/errors.ts";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { listeningApp } from "../support/listening-app.ts";
import { finish } from "../support/scripted-engines.ts";

const hum = { type: "text", text: "Hum." } as const;
const chatPath = "/v1/chat/completions";

const failure = (page: Page) => page.getByRole("article").getByRole("alert");

const newConversation = (page: Page): Promise<void> =>
  page.getByRole("button", { name: "New conversation", exact: true }).first().click();

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("a failure is said in a sentence", () => {
  test("with a retry that works", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    for (const [kind, sentence] of [
      ["overloaded", "The node is busy: too many requests wait already. Retry in 5 seconds."],
      ["model_not_ready", "The node is not ready for this. Not yet."],
      ["internal", "Not yet."],
    ] as const) {
      app.chat.script(new NodeError(kind, "Not yet.")).script(hum, finish);
      await newConversation(page);
      await ask(page, kind);
      expect(await failure(page).locator("p").textContent()).toBe(sentence);
      await failure(page).getByRole("button", { name: "Retry" }).click();
      await answers(page).getByText("Hum.").waitFor();
      expect(await failure(page).count()).toBe(0);
    }
  });

  test("by its status, with a retry only where one can help", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    for (const [status, headers, sentence, retries] of [
      [429, { "retry-after": "7" }, "That was too much at once. Wait 7 seconds, then retry.", 1],
      [403, {}, "Your key does not allow this. It opens nothing.", 0],
      [400, {}, "It opens nothing.", 0],
    ] as const) {
      const body = { error: { message: "It opens nothing.", code: null } };
      app.instead = ({ url }) =>
        url.endsWith(chatPath) ? Response.json(body, { status, headers }) : undefined;
      await newConversation(page);
      await ask(page, String(status));
      expect(await failure(page).locator("p").textContent()).toBe(sentence);
      expect(await failure(page).getByRole("button").count()).toBe(retries);
    }
  });

  test("in the middle of an answer, which is kept", async () => {
    await using app = listeningApp();
    app.chat.script(hum, new NodeError("timeout", "It took too long."));
    await using visited = await visit(app.origin);
    await ask(visited.page, "q");
    expect(await failure(visited.page).locator("p").textContent()).toBe("It took too long.");
    expect(await visited.page.locator(".markdown").textContent()).toBe("Hum.");
  });

  test("when the connection breaks midway, and when the node is gone", async () => {
    await using app = listeningApp();
    const never = Promise.withResolvers<void>();
    app.chat.script(hum, () => never.promise, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await ask(page, "q");
    await answers(page).getByText("Hum.").waitFor();
    await app.stop();
    await failure(page).getByText("The answer broke off before its end").waitFor();
    never.resolve();
    await failure(page).getByRole("button", { name: "Retry" }).click();
    await failure(page).getByText("The node cannot be reached.").waitFor();
  });

  test("before the models are ready, with the node's reasons", async () => {
    await using app = listeningApp({ unprepared: true });
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page
      .getByText("The node is not ready yet. The model 'chatty' is being prepared.")
      .waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the key", () => {
  test("is asked for when the node wants one, and kept in this tab only", async () => {
    await using app = listeningApp({ keys: ["a-long-secret"] });
    app.chat.script(hum, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await ask(page, "q");
    const dialog = page.getByRole("dialog", { name: "This node wants an API key" });
    await dialog.getByText("Enter a key that it knows.").waitFor();
    expect(await page.evaluate("document.activeElement.type")).toBe("password");
    await dialog.getByLabel("API key", { exact: true }).fill("a-wrong-secret");
    await page.keyboard.press("Enter");
    await dialog.getByText("The API key is not one of this node's.").waitFor();
    await dialog.getByLabel("API key", { exact: true }).fill("a-long-secret");
    await page.keyboard.press("Enter");
    await answers(page).getByText("Hum.").waitFor();
    expect(await dialog.count()).toBe(0);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain("secret");
    expect(await page.evaluate("sessionStorage['paddock.key']")).toBe("a-long-secret");
    await page.getByRole("tab", { name: "Node" }).click();
    await page.getByRole("button", { name: "Forget the key" }).click();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("need not be given: the failure says what is missing", async () => {
    await using app = listeningApp({ keys: ["a-long-secret"] });
    await using visited = await visit(app.origin);
    const { page } = visited;
    await ask(page, "q");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await failure(page).getByText("The node wants an API key. Retry, and give one.").waitFor();
    await failure(page).getByRole("button", { name: "Retry" }).click();
    await page.getByRole("dialog").waitFor();
  });
});
