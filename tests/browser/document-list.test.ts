import { describe, expect, test } from "bun:test";
import { browserPath, visit } from "../support/browser.ts";
import { chooseFiles, documentRow, readyDocument } from "../support/documents-page.ts";
import { listeningDocuments } from "../support/listening-documents.ts";
import { waitFor } from "../support/wait-for.ts";

const own = "vs_default";

/** Holds files back until it is opened. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { beforeIngest: () => promise, open: resolve, [Symbol.dispose]: resolve };
}

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the documents of a collection", () => {
  test("are followed while they are ingested and seen, and no longer", async () => {
    const held = gate();
    await using app = await listeningDocuments({ documents: held });
    // Before the app ends, also where the test fails: it waits for what is held.
    using _ = held;
    const file = await app.client.file("llamas hum", "notes.md");
    await app.client.add(own, { file_id: file });
    await using visited = await visit(app.origin);
    const { page } = visited;
    // Before the first timer of the documents is set: one of the real clock would go on by itself.
    await page.clock.install();
    await page.getByRole("tab", { name: "Documents" }).click();
    await documentRow(page, "notes.md").getByText("Being ingested").waitFor();
    const asks = () => page.waitForRequest("**/vs_default/files?limit=25");
    await asks();
    await asks();
    let asked = 0;
    page.on("request", () => {
      asked++;
    });
    const see = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, "visibilityState", { configurable: true, value: "${state}" });
         document.dispatchEvent(new Event("visibilitychange"));`,
      );
    await see("hidden");
    // What was on its way when it was hidden.
    await page.clock.runFor(10_000);
    asked = 0;
    await page.clock.runFor(60_000);
    expect(asked).toBe(0);
    held.open();
    await app.client.settled(own, file);
    await see("visible");
    await page.clock.runFor(2000);
    await readyDocument(page, "notes.md").waitFor();
    await page.clock.runFor(10_000);
    asked = 0;
    await page.clock.runFor(60_000);
    expect(asked).toBe(0);
  });

  test("are followed where the list was answered before the counts", async () => {
    await using app = await listeningDocuments();
    await app.client.taken(own, "llamas hum", "notes.md");
    await using visited = await visit(app.origin);
    const { page } = visited;
    const seen = Promise.withResolvers<void>();
    let asked = 0;
    await page.route("**/vs_default/files?limit=25", async (route) => {
      const isFirst = asked++ === 0;
      const response = await route.fetch();
      const body = await response.text();
      if (!isFirst) await seen.promise;
      const given = isFirst ? body.replace('"completed"', '"in_progress"') : body;
      await route.fulfill({ response, body: given });
    });
    await page.getByRole("tab", { name: "Documents" }).click();
    await documentRow(page, "notes.md").getByText("Being ingested").waitFor();
    seen.resolve();
    await readyDocument(page, "notes.md").waitFor();
  });

  test("stay those of the last answer that was asked for", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin, { path: "/#documents" });
    const { page } = visited;
    await page.getByRole("heading", { name: "default" }).waitFor();
    const held = Promise.withResolvers<void>();
    const asked = page.waitForRequest("**/vector_stores?*");
    await page.route(
      "**/vector_stores?*",
      async (route) => {
        const response = await route.fetch();
        await held.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    // The first question of two: what it says is from before the second file.
    await chooseFiles(page, { name: "first.md", text: "llamas hum" });
    await asked;
    await chooseFiles(page, { name: "second.md", text: "alpacas hum" });
    await page.getByRole("heading", { name: "2 documents" }).waitFor();
    const finished = asked.then((first) => first.response());
    held.resolve();
    await (await finished)?.finished();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
    expect(await page.getByRole("heading", { name: "2 documents" }).count()).toBe(1);
  });

  test("are listed in pages, the newest first", async () => {
    const held = gate();
    await using app = await listeningDocuments({ documents: held });
    // Before the app ends, also where the test fails: it waits for what is held.
    using _ = held;
    const ids: string[] = [];
    for (let at = 1; at <= 60; at++) ids.push(await app.client.file(`text ${at}`, `file ${at}.md`));
    await app.client.batch(own, { file_ids: ids });
    await using visited = await visit(app.origin, { path: "/#documents" });
    const { page } = visited;
    const pages = page.getByRole("navigation", { name: "Pages of documents" });
    const names = () => page.locator(".document .name").allTextContents();
    await pages.getByText("1 to 25 of 60").waitFor();
    expect((await names()).at(0)).toBe("file 60.md");
    // The page asks again by itself while files are in progress; a reader's click is not lost for it.
    const again = Promise.withResolvers<void>();
    let turns = 0;
    await page.route("**/vs_default/files?limit=25&after=*", async (route) => {
      turns++;
      await again.promise;
      await route.continue();
    });
    await pages.getByRole("button", { name: "Older" }).click();
    await waitFor("the reader's question", () => turns > 0);
    // A page that is looked at again polls also where an answer is still on its way.
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await waitFor("the page's own question", () => turns > 1);
    again.resolve();
    await pages.getByText("26 to 50 of 60").waitFor();
    await page.unroute("**/vs_default/files?limit=25&after=*");
    await pages.getByRole("button", { name: "Older" }).click();
    await pages.getByText("51 to 60 of 60").waitFor();
    expect((await names()).at(-1)).toBe("file 1.md");
    expect(await pages.getByRole("button", { name: "Older" }).isDisabled()).toBe(true);
    await pages.getByRole("button", { name: "Newer" }).click();
    await pages.getByText("26 to 50 of 60").waitFor();
    // Whoever removes where the page begins sends the reader to the first one.
    await app.client.send("DELETE", `/vector_stores/${own}/files/${ids[35]}`);
    await pages.getByText("1 to 25 of 59").waitFor();
    held.open();
  });
});
