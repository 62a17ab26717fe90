import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { type ListeningDocuments, listeningDocuments } from "../support/listening-documents.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";

const own = "vs_default";

/** An app whose own collection has a document of some passages; with -1 they match no question. */
async function withPassages(document: string, direction: 1 | -1 = 1): Promise<ListeningDocuments> {
  const app = await listeningDocuments();
  const sources = ["llamas hum", "alpacas sing", "vicuñas run"];
  await app.app.repository.upsert(
    sources.map((source, position) =>
      passage(position + 1, [direction, 1 + position / 9], {
        ...{ source, document, position, heading: "Animals", parts: sources.length },
      }),
    ),
  );
  return app;
}

const isOff = (page: Page) => page.getByRole("radio", { name: "off", exact: true }).isChecked();

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("an answer's marker", () => {
  test("opens the passage in its document, marked, and closing it gives the focus back", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "They sing [1, 2], not [9] `[1]`." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    await ask(page, "q");
    await answers(page).getByText("They sing [1, 2], not [9] [1].").waitFor();
    const markers = answers(page).locator(".markdown").getByRole("button");
    expect(await markers.allTextContents()).toEqual(["1", "2"]);
    const second = page.getByRole("button", { name: "Open passage 2", exact: true });
    await second.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "animals.md" });
    await dialog.locator("[aria-current=true]").waitFor();
    expect(await dialog.locator("li p").allTextContents()).toEqual([
      "llamas hum",
      "alpacas sing",
      "vicuñas run",
    ]);
    const given = await page.locator(".sources .as-written").nth(1).textContent();
    expect(await dialog.locator("[aria-current=true] p").textContent()).toBe(given);
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Open passage 2");
  });

  test("shows what the answer was given, where the document has changed or is gone", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "They hum [1]." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    await ask(page, "q");
    const marker = page.getByRole("button", { name: "Open passage 1", exact: true });
    await marker.waitFor();
    const given = await page.locator(".sources .as-written").first().textContent();
    await app.app.repository.delete("animals.md");
    const text = { source: "another text", document: "animals.md", heading: "", parts: 1 };
    await app.app.repository.upsert(
      [0, 1, 2].map((position) =>
        passage(position + 7, [1, 1], { ...text, position, documentHash: "version-2" }),
      ),
    );
    await marker.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The document has changed since").waitFor();
    expect(await dialog.locator(".as-given .as-written").textContent()).toBe(given);
    expect(await dialog.locator("[aria-current]").count()).toBe(0);
    await page.keyboard.press("Escape");
    await app.app.repository.delete("animals.md");
    await marker.click();
    await dialog.locator(".as-given").waitFor();
    expect(await dialog.locator(".as-given .as-written").textContent()).toBe(given);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("answer from my documents", () => {
  test("is left to the node where there are documents; another choice wins and is remembered", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "Hum." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    await page.getByRole("radio", { name: "off", exact: true }).check();
    await ask(page, "q");
    await answers(page).getByText("Hum.").waitFor();
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.reload();
    await page.locator(".starter-questions button:enabled").first().waitFor();
    expect(await isOff(page)).toBe(true);
  });

  test("is left to the node also on a page that was opened before the node was ready", async () => {
    await using app = await withPassages("animals.md");
    let isReady = false;
    const notYet = { status: "not_ready", reasons: ["The model is being prepared."] };
    const none = { object: "list", data: [], first_id: null, last_id: null, has_more: false };
    app.instead = ({ url }) => {
      if (isReady) return undefined;
      if (url.endsWith("/ready")) return Response.json(notYet, { status: 503 });
      return url.includes("/vector_stores") ? Response.json(none) : undefined;
    };
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByText("The node is not ready yet.").waitFor();
    expect(await isOff(page)).toBe(true);
    isReady = true;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
  });

  test("is left to the node while its handbook is still being stored", async () => {
    await using app = await listeningDocuments();
    const storing = { status: "ready", reasons: ["The handbook is being stored (0 %)."] };
    app.instead = ({ url }) => (url.endsWith("/ready") ? Response.json(storing) : undefined);
    await using visited = await visit(app.origin);
    await visited.page.getByRole("radio", { name: "auto", checked: true }).waitFor();
  });

  test("is left to the node for the questions to begin with, but for the one about it", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "Paris." }, finish);
    app.app.chat.script({ type: "text", text: "Press Ctrl-C." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    const ragOf = async (question: string): Promise<unknown> => {
      const request = page.waitForRequest("**/v1/chat/completions");
      await page.getByRole("button", { name: question }).click();
      return (await request).postDataJSON().rag;
    };
    expect(await ragOf("What is the capital of France?")).toBe("auto");
    await answers(page).getByText("Paris.").waitFor();
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    expect(await ragOf("How do I stop this node?")).toEqual({ limit: 1 });
  });

  test("is left to the node where there is nothing but the handbook, and off where there is nothing", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.locator(".starter-questions button:enabled").first().waitFor();
    expect(await isOff(page)).toBe(true);
    await using handbook = await withPassages("paddock:handbook/keys.md");
    await using other = await visit(handbook.origin);
    await other.page.getByRole("radio", { name: "auto", checked: true }).waitFor();
  });

  test("has no word of sources where no passage clearly matches", async () => {
    await using app = await withPassages("animals.md", -1);
    app.app.chat.script({ type: "text", text: "A haiku." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    await ask(page, "Write a haiku about autumn.");
    await answers(page).getByText("A haiku.").waitFor();
    await page.locator("[aria-busy=false] footer").waitFor();
    expect(await page.locator(".sources").count()).toBe(0);
  });

  test("is read from what an earlier version of the page stored", async () => {
    await using app = await withPassages("animals.md");
    await using visited = await visit(app.origin);
    const { page } = visited;
    const old = { id: "1", title: "Old", createdAt: "2026-11-01T00:00:00.000Z" };
    const settings = { model: "", system: "", grounded: true };
    const turns = [{ id: "2", role: "user", content: "Hello" }];
    await page.addInitScript(
      (stored) => localStorage.setItem("paddock.conversations", stored),
      JSON.stringify([{ ...old, settings, turns }]),
    );
    await page.reload();
    await page.getByRole("radio", { name: "on", checked: true }).waitFor();
  });

  test("comes from the collections that are chosen, and says from which it came", async () => {
    await using app = await withPassages("animals.md");
    const { id } = await app.client.store({ name: "Recipes" });
    await app.client.taken(id, "llama cake", "cake.md");
    app.app.chat.script({ type: "text", text: "Cake." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    await page.getByText("From default").click();
    await page.getByLabel("Recipes").check();
    await page.getByLabel("default").uncheck();
    await page.keyboard.press("Escape");
    await page.getByText("From Recipes").waitFor();
    const request = page.waitForRequest("**/v1/chat/completions");
    await ask(page, "q");
    expect((await request).postDataJSON().rag).toEqual({ auto: true, vector_store_ids: [id] });
    const sources = page.getByRole("complementary", { name: "Sources of this answer" });
    await sources.getByText("From the collection Recipes").waitFor();

    await page.getByRole("tab", { name: "Knowledge" }).click();
    await page.getByText("From default").click();
    await page.getByLabel("Recipes").check();
    await page.getByLabel("Question").fill("q");
    const search = page.waitForRequest("**/v1/retrieve");
    await page.getByRole("button", { name: "Search" }).click();
    expect((await search).postDataJSON().collection).toEqual([own, id]);
    await page.locator(".passages").getByText("cake.md").waitFor();
  });
});
