import { describe, expect, test } from "bun:test";
import type { Page, Route } from "playwright-core";
import { ask, browserPath, stopLongTimers, visit } from "../support/browser.ts";
import { dropFiles, readyDocument } from "../support/documents-page.ts";
import { listeningApp } from "../support/listening-app.ts";
import { listeningDocuments } from "../support/listening-documents.ts";
import { passage } from "../support/passages.ts";

interface HeldAnswer {
  /** The node has answered. */
  given: Promise<void>;
  /** Lets the answer come, and waits until the page has it. */
  release: () => Promise<void>;
}

/** Holds back the next answer to such a request. */
async function holdNext(page: Page, address: string): Promise<HeldAnswer> {
  const given = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const come = Promise.withResolvers<void>();
  const hold = async (route: Route): Promise<void> => {
    const response = await route.fetch();
    given.resolve();
    await held.promise;
    await route.fulfill({ response });
    await (await route.request().response())?.finished();
    come.resolve();
  };
  await page.route(address, hold, { times: 1 });
  const release = async (): Promise<void> => {
    held.resolve();
    await come.promise;
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
  };
  return { given: given.promise, release };
}

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("an answer that comes late", () => {
  test("does not replace the passages of a later search", async () => {
    await using app = listeningApp();
    await app.repository.upsert([passage(1, [1, 1], { source: "Llamas hum." })]);
    await using visited = await visit(app.origin, { path: "/#knowledge" });
    const { page } = visited;
    const search = async (question: string, threshold: string): Promise<void> => {
      await page.getByLabel("Question").fill(question);
      await page.getByLabel("Least score").fill(threshold);
      await page.getByRole("button", { name: "Search" }).click();
    };
    const first = await holdNext(page, "**/v1/retrieve");
    await search("q", "0");
    await first.given;
    await search("quite", "1");
    await page.getByText("No passage is that close to the question.").waitFor();
    await first.release();
    expect(await page.getByText("Llamas hum.").count()).toBe(0);
  });

  test("does not turn the pages of a document back", async () => {
    await using app = await listeningDocuments();
    const texts = Array.from({ length: 60 }, (_, position) => `text ${position}`);
    await app.app.repository.upsert(
      texts.map((source, position) =>
        passage(position + 1, [1, 1], {
          ...{ source, document: "animals.md", position, heading: "", parts: texts.length },
        }),
      ),
    );
    await using visited = await visit(app.origin, { path: "/#documents" });
    const { page } = visited;
    await page.getByRole("button", { name: "Read animals.md" }).click();
    await page.getByRole("button", { name: "Later passages" }).click();
    await page.getByText("Passages 21 to 40").waitFor();
    const later = await holdNext(page, "**/content?*");
    await page.getByRole("button", { name: "Later passages" }).click();
    await later.given;
    await page.getByRole("button", { name: "Earlier passages" }).click();
    await page.getByText("Passages 1 to 20").waitFor();
    await later.release();
    expect(await page.getByText("Passages 1 to 20").count()).toBe(1);
  });

  test("does not take a new collection away", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin, { path: "/#documents" });
    const { page } = visited;
    await page.getByRole("heading", { name: "default", exact: true }).waitFor();
    await page.getByRole("tab", { name: "Chat" }).click();
    const before = await holdNext(page, "**/vector_stores?*");
    await page.getByRole("tab", { name: "Documents" }).click();
    await before.given;
    await page.getByRole("button", { name: "New collection" }).click();
    await page.getByLabel("Name of the collection").fill("Fresh");
    await page.getByRole("button", { name: "Make it" }).click();
    const fresh = page.getByRole("heading", { name: "Fresh", exact: true });
    await fresh.waitFor();
    await before.release();
    expect(await fresh.count()).toBe(1);
  });

  test("does not lose files that were dropped before the collections were known", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit("about:blank", { path: "" });
    const { page } = visited;
    const all = Promise.withResolvers<void>();
    const overtaken = Promise.withResolvers<void>();
    let asked = 0;
    // The page asks when the node is ready, with the drop, and when the documents are shown.
    await page.route("**/vector_stores?*", async (route) => {
      const at = ++asked;
      if (at === 3) all.resolve();
      const response = await route.fetch();
      await all.promise;
      if (at === 3) await overtaken.promise;
      await route.fulfill({ response });
      if (at === 2) overtaken.resolve();
    });
    const first = page.waitForRequest("**/vector_stores?*");
    await page.goto(app.origin);
    await first;
    await dropFiles(page, { name: "notes.md", text: "llamas hum" });
    await readyDocument(page, "notes.md").waitFor();
    // An answer may still be on its way to the page.
    await page.unrouteAll({ behavior: "wait" });
  });

  test("about the collections is awaited by a question, which is answered from them", async () => {
    await using app = await listeningDocuments();
    await app.app.repository.upsert([passage(1, [1, 1], { source: "Llamas hum." })]);
    await using visited = await visit("about:blank", { path: "" });
    const { page } = visited;
    await stopLongTimers(page);
    const stores = await holdNext(page, "**/vector_stores?*");
    const request = page.waitForRequest("**/v1/chat/completions");
    await page.goto(app.origin);
    await stores.given;
    await ask(page, "What do llamas do?");
    await stores.release();
    expect((await request).postDataJSON().rag).toBe("auto");
  });

  test("of a node that was not ready does not hide that it is", async () => {
    await using app = listeningApp();
    let state: "failing" | "preparing" | "ready" = "failing";
    app.instead = ({ url }) => {
      if (state === "failing" && url.endsWith("/info")) return new Response("", { status: 500 });
      if (state !== "preparing" || !url.endsWith("/ready")) return undefined;
      const reasons = ["The model is being prepared."];
      return Response.json({ status: "not_ready", reasons }, { status: 503 });
    };
    await using visited = await visit(app.origin);
    const { page } = visited;
    const retry = page.getByRole("button", { name: "Retry" });
    await retry.waitFor();
    state = "preparing";
    const before = await holdNext(page, "**/ready");
    await retry.click();
    await before.given;
    state = "ready";
    await retry.waitFor({ state: "detached" });
    // The page also asks by itself: one such answer may have come while the node was preparing.
    const notice = page.getByText("The node is not ready yet.");
    await notice.waitFor({ state: "detached" });
    await before.release();
    expect(await notice.count()).toBe(0);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("a page that waits", () => {
  test("follows a node that was seen not to be ready on another tab", async () => {
    await using app = listeningApp();
    let isReady = true;
    app.instead = ({ url }) => {
      if (isReady || !url.endsWith("/ready")) return undefined;
      const reasons = ["The model is being prepared."];
      return Response.json({ status: "not_ready", reasons }, { status: 503 });
    };
    await using visited = await visit(app.origin, { path: "/#node" });
    const { page } = visited;
    await page.getByText("The node is ready").waitFor();
    isReady = false;
    await page.getByText("Not ready yet").waitFor();
    await page.getByRole("tab", { name: "Chat" }).click();
    const notice = page.getByText("The node is not ready yet.");
    await notice.waitFor();
    isReady = true;
    await notice.waitFor({ state: "detached" });
  });

  test("follows a collection that came with a later page", async () => {
    await using app = await listeningDocuments();
    let isDone = false;
    const store = (id: string, working: number) => ({
      ...{ id, object: "vector_store", created_at: 1, name: id, usage_bytes: 0, collection: id },
      ...{ status: "completed", last_active_at: 1, metadata: {}, expires_at: null },
      file_counts: {
        ...{ in_progress: working, completed: 1 - working, failed: 0, cancelled: 0, total: 1 },
      },
    });
    const many = Array.from({ length: 100 }, (_, at) => store(`many-${at}`, 0));
    app.instead = ({ url }) => {
      if (!url.includes("/vector_stores?")) return undefined;
      const isLater = url.includes("after=");
      const data = isLater ? [store("last", isDone ? 0 : 1)] : many;
      return Response.json({ object: "list", data, has_more: !isLater });
    };
    await using visited = await visit(app.origin, { path: "/#documents" });
    const { page } = visited;
    await page.getByRole("button", { name: "More collections" }).click();
    const last = page.getByRole("button", { name: /^last/ });
    await last.getByText("1 being ingested").waitFor();
    isDone = true;
    await last.getByText("1 being ingested").waitFor({ state: "detached" });
  });
});
