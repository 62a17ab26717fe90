import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { readyDocument } from "../support/documents-page.ts";
import { type ListeningDocuments, listeningDocuments } from "../support/listening-documents.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";

const own = "vs_default";

/** An app whose own collection has a document of some passages. */
async function withPassages(document: string): Promise<ListeningDocuments> {
  const app = await listeningDocuments();
  const sources = ["llamas hum", "alpacas sing", "vicuñas run"];
  await app.app.repository.upsert(
    sources.map((source, position) =>
      passage(position + 1, [1, 1 + position / 9], {
        ...{ source, document, position, heading: "Animals", parts: sources.length },
      }),
    ),
  );
  return app;
}

const isGrounded = (page: Page) => page.getByRole("switch").isChecked();

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("an answer's marker", () => {
  test("opens the passage in its document, marked, and closing it gives the focus back", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "They sing [1, 2], not [9] `[1]`." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("switch", { checked: true }).waitFor();
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
    await page.getByRole("switch", { checked: true }).waitFor();
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
  test("is on by default with documents of one's own; another choice wins and is remembered", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "Hum." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("switch", { checked: true }).waitFor();
    await page.getByRole("switch").uncheck();
    await ask(page, "q");
    await answers(page).getByText("Hum.").waitFor();
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.reload();
    await page.locator(".starter-questions button:enabled").first().waitFor();
    expect(await isGrounded(page)).toBe(false);
  });

  test("is on by default also on a page that was opened before the node was ready", async () => {
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
    expect(await isGrounded(page)).toBe(false);
    isReady = true;
    await page.getByRole("switch", { checked: true }).waitFor();
  });

  test("leaves a question alone that says by itself whether it is answered from documents", async () => {
    await using app = await withPassages("animals.md");
    app.app.chat.script({ type: "text", text: "Paris." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("switch", { checked: true }).waitFor();
    const request = page.waitForRequest("**/v1/chat/completions");
    await page.getByRole("button", { name: "What is the capital of France?" }).click();
    expect((await request).postDataJSON().rag).toBe(false);
    await page.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("switch", { checked: true }).waitFor();
  });

  test("is off by default where there is nothing but the handbook, until a file is added", async () => {
    await using app = await withPassages("paddock:handbook/keys.md");
    await using visited = await visit(app.origin);
    const { page } = visited;
    const listed = page.waitForResponse("**/vector_stores/vs_default/files?limit=100");
    await page.reload();
    await listed;
    await page.locator(".starter-questions button:enabled").first().waitFor();
    expect(await isGrounded(page)).toBe(false);
    await app.client.taken(own, "llamas hum", "mine.md");
    await page.getByRole("tab", { name: "Documents" }).click();
    await readyDocument(page, "mine.md").waitFor();
    await page.getByRole("tab", { name: "Chat" }).click();
    await page.getByRole("switch", { checked: true }).waitFor();
  });

  test("comes from the collections that are chosen, and says from which it came", async () => {
    await using app = await withPassages("animals.md");
    const { id } = await app.client.store({ name: "Recipes" });
    await app.client.taken(id, "llama cake", "cake.md");
    app.app.chat.script({ type: "text", text: "Cake." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("switch", { checked: true }).waitFor();
    await page.getByText("From default").click();
    await page.getByLabel("Recipes").check();
    await page.getByLabel("default").uncheck();
    await page.keyboard.press("Escape");
    await page.getByText("From Recipes").waitFor();
    const request = page.waitForRequest("**/v1/chat/completions");
    await ask(page, "q");
    expect((await request).postDataJSON().rag).toEqual({ vector_store_ids: [id] });
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
