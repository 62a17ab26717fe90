import { describe, expect, test } from "bun:test";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { type ListeningApp, listeningApp } from "../support/listening-app.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";

async function filledApp(): Promise<ListeningApp> {
  const app = listeningApp();
  await app.repository.upsert([
    passage(1, [1, 1], {
      source: "Animals > Llamas\n\nLlamas hum.",
      document: "animals.md",
      heading: "Animals > Llamas",
    }),
    passage(2, [1, 4], { source: "Roses bloom.", document: "", heading: "" }),
  ]);
  return app;
}

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("knowledge", () => {
  test("shows passages with their scores as bars, their document and their heading", async () => {
    await using app = await filledApp();
    await using visited = await visit(app.origin, { path: "/#knowledge" });
    const { page } = visited;
    await page.getByLabel("Question").fill("q");
    await page.getByRole("button", { name: "Search" }).click();
    const passages = page.getByRole("region", { name: "Passages found" }).getByRole("listitem");
    await passages.first().waitFor();
    const shown = await passages.evaluateAll((all) =>
      all.map((one) => ({
        place: one.querySelector(".place")?.textContent,
        score: one.querySelector(".score > span")?.textContent,
        width: one.querySelector(".bar > div")?.getAttribute("style"),
        text: one.querySelector(".as-written")?.textContent,
      })),
    );
    expect(shown).toEqual([
      {
        place: "animals.mdAnimals > Llamas",
        score: "Score 1.00",
        width: "width: 100%;",
        text: "Llamas hum.",
      },
      {
        place: "A document without a name",
        score: "Score 0.86",
        width: "width: 85.7%;",
        text: "Roses bloom.",
      },
    ]);
    expect(await page.locator(".row.between .note").textContent()).toMatch(
      /^2 passages in \d+ ms: at most 5, with a score of 0\.4 or more\.$/,
    );
  });

  test("asks for fewer and better passages, and says when there are none", async () => {
    await using app = await filledApp();
    await using visited = await visit(app.origin, { path: "/#knowledge" });
    const { page } = visited;
    const passages = page.locator(".passages li");
    await page.getByLabel("Question").fill("q");
    await page.getByLabel("Most passages").fill("1");
    await page.getByRole("button", { name: "Search" }).click();
    await passages.first().waitFor();
    expect(await passages.count()).toBe(1);
    await page.getByLabel("Question").fill("quite");
    await page.getByLabel("Least score").fill("1");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("No passage is that close to the question.").waitFor();
  });

  test("says in a sentence why nothing was found out, with a retry", async () => {
    await using app = await filledApp();
    let failed = false;
    app.instead = ({ url }) => {
      if (failed || !url.endsWith("/v1/retrieve")) return undefined;
      failed = true;
      const message = "The collection cannot be reached.";
      return Response.json({ error: { message, code: "unavailable" } }, { status: 503 });
    };
    await using visited = await visit(app.origin, { path: "/#knowledge" });
    const { page } = visited;
    await page.getByLabel("Question").fill("q");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("The collection cannot be reached.").waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByText("Llamas hum.").waitFor();
  });

  test("hands a question on to the model, which answers from the passages", async () => {
    await using app = await filledApp();
    app.chat.script({ type: "text", text: "They hum [1]." }, finish);
    await using visited = await visit(app.origin, { path: "/#knowledge" });
    const { page } = visited;
    await page.getByLabel("Question").fill("q");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("button", { name: "Have the model answer this" }).click();
    await answers(page).getByText("They hum [1].").waitFor();
    await page.getByRole("complementary", { name: "Sources of this answer" }).waitFor();
    await page.locator("#question:focus").waitFor();
    expect(await page.getByRole("tab", { name: "Chat" }).getAttribute("aria-selected")).toBe(
      "true",
    );
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("an answer from my documents", () => {
  test("has its sources beside it, with bars, places and the passages themselves", async () => {
    await using app = await filledApp();
    app.chat.script({ type: "text", text: "They hum [1]." }, finish);
    await using visited = await visit(app.origin, { viewport: { width: 1400, height: 900 } });
    const { page } = visited;
    await page.getByRole("radio", { name: "on", exact: true }).check();
    const request = page.waitForRequest("**/v1/chat/completions");
    await ask(page, "q");
    expect((await request).postDataJSON()).toMatchObject({ rag: true });
    const sources = page.getByRole("complementary", { name: "Sources of this answer" });
    await sources.waitFor();
    expect(await sources.locator("strong").allTextContents()).toEqual([
      "animals.md",
      "A document without a name",
    ]);
    expect(await sources.locator(".score > span").allTextContents()).toEqual([
      "Score 1.00",
      "Score 0.86",
    ]);
    expect(await sources.getByText("Llamas hum.").isVisible()).toBe(true);
    const other = sources.locator(".passage").nth(1).locator(".as-written");
    expect(await other.isVisible()).toBe(false);
    await sources.getByText("Show the passage").nth(1).click();
    expect(await other.isVisible()).toBe(true);
    const [text, aside] = await Promise.all([
      answers(page).locator(".body").boundingBox(),
      sources.boundingBox(),
    ]);
    expect((text?.x ?? 0) + (text?.width ?? 0)).toBeLessThanOrEqual(aside?.x ?? 0);
    expect(text?.y).toBe(aside?.y ?? -1);
  });

  test("says when no passage matched", async () => {
    await using app = listeningApp();
    app.chat.script({ type: "text", text: "I made this up." }, finish);
    await using visited = await visit(app.origin);
    await visited.page.getByRole("radio", { name: "on", exact: true }).check();
    await ask(visited.page, "q");
    await visited.page.getByText("No passage matched the question").waitFor();
  });
});
