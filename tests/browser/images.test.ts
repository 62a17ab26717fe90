import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { answers, browserPath, visit } from "../support/browser.ts";
import { dropPath } from "../support/documents-page.ts";
import { listeningApp } from "../support/listening-app.ts";
import { finish } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";

/** A PNG of one pixel. */
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const url = `data:image/png;base64,${pixel}`;
const text = (words: string) => ({ type: "text", text: words }) as const;

/** What a browser does with a copied image. */
const paste = (page: Page): Promise<unknown> =>
  page.evaluate(`(() => {
    const clipboardData = new DataTransfer();
    const bytes = Uint8Array.from(atob("${pixel}"), (letter) => letter.charCodeAt(0));
    clipboardData.items.add(new File([bytes], "image.png", { type: "image/png" }));
    const pasted = new ClipboardEvent("paste", { clipboardData, bubbles: true });
    document.getElementById("question").dispatchEvent(pasted);
  })()`);

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("an image on the page", () => {
  test("is pasted, dropped or taken back, sent before the question, and shown with it", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "llama.png");
    await writeFile(path, Buffer.from(pixel, "base64"));
    await using app = listeningApp({ vision: true });
    app.chat.script(text("A llama."), finish).script(text("Brown."), finish);
    await using visited = await visit(app.origin);
    const { page, complaints } = visited;
    await page.getByRole("button", { name: "Add image" }).waitFor();
    await paste(page);
    const drafts = page.getByRole("list", { name: "Images to send" }).locator("img");
    await drafts.waitFor();
    await page.getByRole("button", { name: "Remove image 1" }).click();
    await drafts.waitFor({ state: "detached" });
    await dropPath(page, path);
    await drafts.waitFor();
    await page.getByLabel("Your question").fill("What is it?");
    await page.keyboard.press("Enter");
    await answers(page).getByText("A llama.").waitFor();
    await page.locator(".turn.question img").waitFor();
    expect(await drafts.count()).toBe(0);
    await page.locator("[aria-busy=false]").waitFor();
    await page.getByLabel("Your question").fill("Its colour?");
    await page.keyboard.press("Enter");
    await answers(page).getByText("Brown.").waitFor();
    const seen = { role: "user", content: "What is it?", images: [{ at: 0, url }] } as const;
    const users = app.chat.requests.map(({ messages }) =>
      messages.filter(({ role }) => role === "user"),
    );
    expect(users).toEqual([[seen], [seen, { role: "user", content: "Its colour?" }]]);
    await page.reload();
    await page.getByText("An image that this browser did not keep").waitFor();
    expect(complaints).toEqual([]);
  });

  test("is not taken for a model that reads text, and the page says so", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.locator(".composer .model", { hasText: "chatty" }).waitFor();
    await paste(page);
    await page
      .getByText("chatty does not read images. No model of this node does.", { exact: true })
      .waitFor();
    expect(await page.getByRole("button", { name: "Add image" }).count()).toBe(0);
  });
});
