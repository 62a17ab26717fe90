import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { type ListeningApp, listeningApp } from "../support/listening-app.ts";
import { finish } from "../support/scripted-engines.ts";

/** An app that has an answer for each of the questions, and a page that has asked them. */
async function asked(app: ListeningApp, page: Page, questions: readonly string[]): Promise<void> {
  for (const question of questions) {
    app.chat.script({ type: "text", text: `Answer to ${question}` }, finish);
    await page.getByRole("button", { name: "New conversation", exact: true }).first().click();
    await ask(page, question);
    await page.locator("[aria-busy=false]").getByText(`Answer to ${question}`).waitFor();
  }
}

const list = (page: Page) => page.getByRole("navigation", { name: "Conversations" });
const titles = (page: Page) => list(page).locator(".title").allInnerTexts();

async function exported(page: Page, format: string): Promise<{ name: string; content: string }> {
  await page.getByText("Export this conversation").click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: `As ${format}` }).click();
  const file = await download;
  return {
    name: file.suggestedFilename(),
    content: await readFile(await file.path(), "utf8"),
  };
}

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("conversations", () => {
  test("survive a reload, each with its turns", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    await asked(app, page, ["alpha", "beta"]);
    await page.reload();
    await list(page).getByRole("button", { name: "alpha", exact: true }).click();
    await answers(page).getByText("Answer to alpha").waitFor();
    expect(await titles(page)).toEqual(["beta", "alpha"]);
    expect(await page.getByRole("article").allInnerTexts()).toEqual([
      "alpha",
      expect.stringContaining("Answer to alpha"),
    ]);
  });

  test("can be renamed and deleted, and stay so", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    await asked(app, page, ["alpha", "beta"]);
    await page.getByRole("button", { name: "Rename beta" }).click();
    await page.getByLabel("Title of the conversation").fill("Second letter");
    await page.keyboard.press("Enter");
    expect(await titles(page)).toEqual(["Second letter", "alpha"]);
    await page.getByRole("button", { name: "Delete Second letter" }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    expect(await titles(page)).toEqual(["Second letter", "alpha"]);
    await page.getByRole("button", { name: "Delete Second letter" }).click();
    await page.getByRole("button", { name: "Delete it" }).click();
    await page.locator("#question:focus").waitFor();
    await answers(page).getByText("Answer to alpha").waitFor();
    await page.reload();
    await answers(page).getByText("Answer to alpha").waitFor();
    expect(await titles(page)).toEqual(["alpha"]);
  });

  test("stay where they are when one is chosen: a second click deletes nothing", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    await asked(app, page, ["alpha", "beta", "gamma"]);
    for (const name of ["alpha", "gamma", "beta"]) {
      const title = list(page).getByRole("button", { name, exact: true });
      const before = await title.boundingBox();
      for (const share of [0.1, 0.5, 0.9]) {
        const { x, y, width, height } = before ?? expect.unreachable();
        await page.mouse.dblclick(x + width * share, y + height / 2);
        await answers(page).getByText(`Answer to ${name}`).waitFor();
      }
      expect(await title.boundingBox()).toEqual(before);
      expect(await list(page).locator("dialog, form").count()).toBe(0);
      expect(await page.getByRole("button", { name: `Delete ${name}` }).isVisible()).toBe(true);
    }
  });

  test("can be exported as JSON and as Markdown", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page, complaints } = visited;
    await asked(app, page, ["Do llamas hum?"]);
    const json = await exported(page, "JSON");
    expect(json.name).toBe("do-llamas-hum.json");
    expect(JSON.parse(json.content)).toMatchObject({
      title: "Do llamas hum?",
      settings: { model: "chatty" },
      turns: [
        { role: "user", content: "Do llamas hum?" },
        { role: "assistant", content: "Answer to Do llamas hum?", state: "done" },
      ],
    });
    const markdown = await exported(page, "Markdown");
    expect(markdown.name).toBe("do-llamas-hum.md");
    expect(markdown.content).toContain(
      "## You\n\nDo llamas hum?\n\n## chatty\n\nAnswer to Do llamas hum?\n",
    );
    expect(complaints).toEqual([]);
  });

  test("begin anew where what the browser kept is not readable", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page, complaints } = visited;
    await page.evaluate("localStorage.setItem('paddock.conversations', '[{\"id\": 1}, 7, ')");
    // As it would be found by another tab: this one keeps its own when it is left.
    const other = await page.context().newPage();
    await other.goto(app.origin);
    await other.getByText("Ask this node something").waitFor();
    expect(complaints).toEqual([]);
  });

  test("are kept where another beside them is not readable", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page, complaints } = visited;
    const sound = { id: "a", title: "About llamas", settings: {}, turns: [] };
    const broken = [
      { ...sound, id: "b", settings: null },
      { ...sound, id: "c", turns: "none" },
      { ...sound, id: "d", turns: [null] },
    ];
    await page.addInitScript(
      (stored) => localStorage.setItem("paddock.conversations", stored),
      JSON.stringify([...broken, sound]),
    );
    await page.reload();
    await page.getByText("About llamas").first().waitFor({ state: "attached" });
    expect(complaints).toEqual([]);
  });

  test("show an answer that was cut by closing the page as stopped", async () => {
    await using app = listeningApp();
    const never = Promise.withResolvers<void>();
    app.chat.script({ type: "text", text: "Half" }, () => never.promise, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await ask(page, "q");
    await answers(page).getByText("Half").waitFor();
    await page.reload();
    await page.getByText("You stopped this answer.").waitFor();
    never.resolve();
  });
});
