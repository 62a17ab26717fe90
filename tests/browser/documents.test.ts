import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { answers, ask, browserPath, type Visit, visit } from "../support/browser.ts";
import {
  chooseFiles,
  documentRow,
  dropFiles,
  dropPath,
  failedUpload,
  readyDocument,
} from "../support/documents-page.ts";
import { tempDir } from "../support/temp-dir.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
beforeAll(async () => {
  if (browserPath !== undefined) node = await tinyNode();
});
afterAll(async () => await node?.[Symbol.asyncDispose]());

const room = (): Promise<Visit> =>
  visit(node.baseUrl.replace(/\/v1$/, ""), { path: "/#documents" });

/** Makes a collection, so that each test has its own. */
async function newCollection(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "New collection" }).click();
  await page.getByLabel("Name of the collection").fill(name);
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("heading", { name, exact: true }).waitFor();
}

const part = (at: number): string =>
  `## Part ${at}\n\nllama number ${at} eats hay and sleeps in the barn by the river.`;
const long = `# Llamas\n\n${Array.from({ length: 40 }, (_, at) => part(at)).join("\n\n")}`;

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("documents on a real node's page", () => {
  test("come from a dropped folder, with what lies in folders of it", async () => {
    await using folder = await tempDir();
    await mkdir(join(folder.path, "more", ".git"), { recursive: true });
    await writeFile(join(folder.path, "barn.md"), "# One\n\nllamas eat hay.");
    await writeFile(join(folder.path, "more", "hums.md"), "# Two\n\nllamas hum.");
    await writeFile(join(folder.path, "more", ".git", "config"), "hidden");
    await using visited = await room();
    const { page } = visited;
    await newCollection(page, "Folder");
    await dropPath(page, folder.path);
    await readyDocument(page, "barn.md").waitFor();
    await readyDocument(page, "hums.md").waitFor();
    expect(await page.locator(".document").count()).toBe(2);
  });

  test("go from a drop to an answer, whose source opens in its document", async () => {
    await using visited = await room();
    const { page, complaints, strangers } = visited;
    await newCollection(page, "Stable");
    await dropFiles(page, { name: "llamas.md", text: long });
    await readyDocument(page, "llamas.md").waitFor();
    expect(await documentRow(page, "llamas.md").locator(".facts-line").textContent()).toMatch(
      /^Ready\d\d+ passages\d kB$/,
    );

    await page.getByRole("button", { name: "Ask about it" }).click();
    await page.getByRole("radio", { name: "on", checked: true }).waitFor();
    const request = page.waitForRequest("**/v1/chat/completions");
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Most tokens").fill("8");
    await ask(page, "llama number 31 eats hay");
    expect((await request).postDataJSON().rag.vector_store_ids).toHaveLength(1);
    const sources = page.getByRole("complementary", { name: "Sources of this answer" });
    await sources.getByText("From the collection Stable").waitFor();
    await answers(page).and(page.locator("[aria-busy=false]")).waitFor();
    const [first] = await sources.locator(".passage").all();
    const given = await first?.locator(".as-written").textContent();
    await first?.getByRole("button", { name: "Open in the document" }).click();
    const marked = page.getByRole("dialog", { name: "llamas.md" }).locator("[aria-current=true]");
    await marked.waitFor();
    expect(await marked.textContent()).toContain(given ?? "nothing was given");
    expect(await marked.evaluate((one) => one.getBoundingClientRect().top)).toBeGreaterThan(0);
    expect([complaints, strangers]).toEqual([[], []]);
  });

  test("come several at once, whatever they are called, and say why one does not", async () => {
    await using visited = await room();
    const { page } = visited;
    await newCollection(page, "Odds & <ends>");
    const odd = 'a "quoted" <b>name & 100% #1?.md';
    await chooseFiles(
      page,
      { name: odd, text: "llamas hum" },
      { name: "می\u200cخواهم.md", text: "llamas sing" },
      { name: `${"long".repeat(60)}.txt`, text: "llamas walk" },
      { name: "empty.txt", text: "" },
      { name: "letters.rar", text: "Rar!\u001a\u0007\u0000 and the rest" },
    );
    await failedUpload(page, "empty.txt").getByText("It is empty").waitFor();
    await documentRow(page, "letters.rar").getByText("Failed").waitFor();
    expect(await documentRow(page, "letters.rar").locator(".reason").textContent()).toContain(
      "unpack",
    );
    await readyDocument(page, odd.replaceAll('"', "'")).waitFor();
    await readyDocument(page, "میخواهم.md").waitFor();
    await readyDocument(page, "longlong").waitFor();
    expect(await page.getByRole("heading", { name: "4 documents" }).count()).toBe(1);
    await page.getByRole("button", { name: "Dismiss empty.txt" }).click();
    expect(await page.getByRole("region", { name: "Uploads" }).count()).toBe(0);
  });

  test("are kept in collections, which are made, renamed, emptied and deleted", async () => {
    await using visited = await room();
    const { page } = visited;
    await newCollection(page, "First");
    await chooseFiles(page, { name: "one.md", text: "llamas" }, { name: "two.md", text: "hum" });
    await readyDocument(page, "one.md").waitFor();
    await readyDocument(page, "two.md").waitFor();

    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.getByLabel("Name of the collection").fill("Second");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Second", exact: true }).waitFor();

    await page.getByRole("button", { name: "Remove one.md" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("leaves Second with 1 passage").waitFor();
    await dialog.getByRole("button", { name: "Keep it" }).click();
    expect(await documentRow(page, "one.md").count()).toBe(1);

    await page.getByRole("button", { name: "Empty", exact: true }).click();
    const said = await dialog.locator("p").first().textContent();
    expect(said).toMatch(/^This removes 2 documents: “\w+\.md”, “\w+\.md”\./);
    await dialog.getByRole("button", { name: "Empty it" }).click();
    await page.getByText("This collection holds nothing yet.").waitFor();
    const files = await node.app.handle(new Request("http://localhost/v1/files"));
    expect(await files.text()).not.toContain("one.md");

    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog.getByText("It holds no documents.").waitFor();
    await dialog.getByRole("button", { name: "Delete it" }).click();
    await page.getByRole("heading", { name: "default", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Second" }).count()).toBe(0);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("default");
    // The node's own stays.
    expect(await page.getByRole("button", { name: "Delete", exact: true }).count()).toBe(0);
  });

  test("go with their collection, and their files where that is wanted", async () => {
    await using visited = await room();
    const { page } = visited;
    const dialog = page.getByRole("dialog");
    const files = async () =>
      await (await node.app.handle(new Request("http://localhost/v1/files"))).text();
    for (const [name, keeps] of [
      ["kept.md", true],
      ["gone.md", false],
    ] as const) {
      await newCollection(page, `Of ${name}`);
      await chooseFiles(page, { name, text: "llamas hum" });
      await readyDocument(page, name).waitFor();
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await dialog.getByText(`This removes the collection and 1 document: “${name}”.`).waitFor();
      if (keeps) await dialog.getByLabel("Also delete the uploaded files").uncheck();
      await dialog.getByRole("button", { name: "Delete it" }).click();
      await page.getByRole("heading", { name: "default", exact: true }).waitFor();
      expect((await files()).includes(name)).toBe(keeps);
    }
  });

  test("are read in order, page by page", async () => {
    await using visited = await room();
    const { page } = visited;
    await newCollection(page, "Reading");
    await chooseFiles(page, { name: "llamas.md", text: long });
    await readyDocument(page, "llamas.md").waitFor();
    await page.getByRole("button", { name: "Read llamas.md" }).click();
    const dialog = page.getByRole("dialog", { name: "llamas.md" });
    await dialog.getByText("Passages 1 to 20").waitFor();
    expect(await dialog.getByRole("button", { name: "Earlier passages" }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Later passages" }).click();
    await dialog.getByText("Passages 21 to 40").waitFor();
    expect(await dialog.locator(".reader .marker").first().textContent()).toBe("Passage 21");
    await page.keyboard.press("Escape");
    expect(await dialog.count()).toBe(0);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Read llamas.md");
  });
});
