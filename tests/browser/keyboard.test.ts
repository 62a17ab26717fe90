import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { answers, browserPath, visit } from "../support/browser.ts";
import { readyDocument } from "../support/documents-page.ts";
import { listeningApp } from "../support/listening-app.ts";
import { listeningDocuments } from "../support/listening-documents.ts";
import { finish } from "../support/scripted-engines.ts";

const mostStops = 30;

/** Presses Tab until the focus is on what is looked for; nothing else is touched. */
async function tabTo(page: Page, name: string, key = "Tab"): Promise<void> {
  for (let at = 0; at < mostStops; at++) {
    await page.keyboard.press(key);
    const focused: string = await page.evaluate(
      // A panel that has the focus, or the page, holds the names of everything in it.
      `(({ id, tagName, textContent, ariaLabel }) =>
        ["#" + id, ariaLabel, ["BODY", "DIV"].includes(tagName) ? "" : textContent].join(" ")
      )(document.activeElement)`,
    );
    if (focused.includes(name)) return;
  }
  throw new Error(`The Tab key does not come to '${name}'.`);
}

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("with the keyboard alone", () => {
  test("one can ask, stop, ask again, open the settings, and go through the tabs", async () => {
    await using app = listeningApp();
    const never = Promise.withResolvers<void>();
    app.chat.script({ type: "text", text: "Once upon" }, () => never.promise, finish);
    app.chat.script({ type: "text", text: "The end." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.locator(".starter-questions button:enabled").first().waitFor();

    await tabTo(page, "#question");
    await page.keyboard.type("Tell me");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("a story");
    await page.keyboard.press("Enter");
    await answers(page).getByText("Once upon").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("You stopped this answer.").waitFor();
    never.resolve();
    await tabTo(page, "Retry", "Shift+Tab");
    await page.keyboard.press("Enter");
    await answers(page).getByText("The end.").waitFor();
    expect(app.chat.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
      "Tell me\na story",
      "Tell me\na story",
    ]);

    await tabTo(page, "Settings", "Shift+Tab");
    await page.keyboard.press("Space");
    await page.getByLabel("Temperature").waitFor();
    await tabTo(page, "-temperature");
    await page.keyboard.type("0.5");
    expect(await page.getByLabel("Temperature").inputValue()).toBe("0.5");

    await tabTo(page, "tab-chat", "Shift+Tab");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("heading", { name: "Documents", exact: true }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("heading", { name: "Knowledge" }).waitFor();
    await tabTo(page, "-question");
    await page.keyboard.type("quite");
    await page.keyboard.press("Enter");
    await page.getByText("No passage is that close").waitFor();
    await tabTo(page, "tab-knowledge", "Shift+Tab");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("heading", { name: "Node", exact: true }).waitFor();
    await page.keyboard.press("ArrowRight");
    await answers(page).getByText("The end.").waitFor();
  });

  test("one can add a file, read it, remove it, and make a collection", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin, { path: "/#documents" });
    const { page } = visited;
    await page.getByRole("heading", { name: "default" }).waitFor();
    const chooser = page.waitForEvent("filechooser");
    await tabTo(page, "Choose files");
    await page.keyboard.press("Enter");
    await (await chooser).setFiles([
      { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("llamas hum") },
    ]);
    await readyDocument(page, "notes.md").waitFor();

    await tabTo(page, "Read notes.md");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("llamas hum").waitFor();
    await tabTo(page, "Close");
    await page.keyboard.press("Enter");
    await tabTo(page, "Remove notes.md");
    await page.keyboard.press("Enter");
    await tabTo(page, "Remove it");
    await page.keyboard.press("Enter");
    await page.getByText("This collection holds nothing yet.").waitFor();
    // The count may be shown a moment later.
    await page.waitForFunction("document.activeElement.textContent === '0 documents'");

    await tabTo(page, "New collection", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("Recipes");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Recipes" }).waitFor();
    await tabTo(page, "default", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "default" }).waitFor();
  });

  test("one always sees where the focus is", async () => {
    await using app = listeningApp();
    app.chat.script({ type: "text", text: "Run:\n\n```sh\nls\n```" }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.locator(".starter-questions button:enabled").first().click();
    await page.locator("[aria-busy=false]").waitFor();
    const unseen: string[] = [];
    for (let at = 0; at < mostStops; at++) {
      await page.keyboard.press("Tab");
      const hidden: string = await page.evaluate(`(() => {
        const { activeElement: one } = document;
        if (one === document.body) return "";
        const frame = one.closest(".composer") ?? one;
        const seen = getComputedStyle(one).outlineStyle !== "none" || getComputedStyle(frame).boxShadow !== "none";
        return seen ? "" : one.outerHTML.slice(0, 80);
      })()`);
      if (hidden !== "") unseen.push(hidden);
    }
    expect(unseen).toEqual([]);
  });
});
