import { describe, expect, test } from "bun:test";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { ask, browserPath, visit } from "../support/browser.ts";
import { dropFiles, failedUpload } from "../support/documents-page.ts";
import { listeningApp } from "../support/listening-app.ts";
import { type ListeningDocuments, listeningDocuments } from "../support/listening-documents.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";

const long = "Ein".concat("wahrhaftlangeswort".repeat(12));
const answer = `# Title

A paragraph with \`code\`, **strength**, [a link](https://example.org), a source [1] and ${long}.

- [x] done
- [ ] not yet

> A quote

| Column one | Column two | Column three | Column four | Column five | Column six |
|---|---|---|---|---|---|
| a value | another value | a third value | a fourth value | a fifth value | a sixth |

\`\`\`ts
const something = "a line of code that is much longer than any narrow screen is wide, for certain";
\`\`\`
`;

/** A node with something to show everywhere. */
async function fullApp(): Promise<ListeningDocuments> {
  const listening = await listeningDocuments({
    library: {
      mayRemove: () => true,
      pulling: () => ({ source: long, label: "Downloading", completed: 5e8, total: 1e9 }),
    },
  });
  const { app, client } = listening;
  await app.repository.upsert([
    passage(1, [1, 1], {
      ...{ source: `Llamas hum. ${long}`, document: `${long}.md`, heading: long, position: 0 },
    }),
  ]);
  app.chat.script({ type: "reasoning", text: "Hm." }, { type: "text", text: answer }, finish);
  await client.store({ name: long });
  await client.taken("vs_default", "no text at all", `${long.slice(0, 150)}.png`);
  listening.instead = ({ url }) => (url.endsWith("/metrics") ? new Response(metrics) : undefined);
  return listening;
}

const metrics = `# TYPE paddock_queue_length gauge
paddock_queue_length{model="chatty"} 3
paddock_slots{model="chatty"} 4
paddock_slots_in_use{model="chatty"} 2
# TYPE paddock_generated_tokens_total counter
paddock_generated_tokens_total{model="chatty"} 100
`;

/** Goes through the whole page, and stops at each thing that it can show. */
async function* walk(page: Page): AsyncGenerator<string> {
  await page.locator(".starter-questions button:enabled").first().waitFor();
  await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
  yield "an empty conversation";
  await ask(page, long);
  await page.locator("[aria-busy=false]").waitFor();
  yield "an answer with sources";
  await page.getByText("From default", { exact: true }).click();
  yield "the choice of collections";
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Open passage 1", exact: true }).click();
  await page.getByRole("dialog").locator("[aria-current=true]").waitFor();
  yield "a document";
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByText("Export this conversation").click();
  yield "the settings";
  await page.getByRole("tab", { name: "Documents" }).click();
  await page.locator(".document.failed .reason").waitFor();
  await dropFiles(page, { name: `${long}.md`, text: "" });
  await failedUpload(page, long).waitFor();
  yield "documents";
  await page
    .getByRole("button", { name: /^Remove/ })
    .first()
    .click();
  await page.getByRole("dialog").waitFor();
  yield "a removal";
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "New collection" }).click();
  await page.getByRole("dialog").waitFor();
  yield "a new collection";
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Knowledge" }).click();
  await page.getByLabel("Question").fill("q");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".passage").waitFor();
  yield "passages";
  await page.getByRole("tab", { name: "Models" }).click();
  await page.getByText("50 %, 500.0 MB of 1.0 GB").waitFor();
  yield "models";
  await page.getByRole("button", { name: "Delete chatty" }).click();
  await page.getByRole("dialog").waitFor();
  yield "a model's removal";
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Node" }).click();
  await page.getByText("2 of 4 slots answer right now.").waitFor();
  yield "the node";
}

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the page", () => {
  test("covers none of the words on a switch", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const words = visited.page.locator(".segments label span");
    await words.first().waitFor();
    expect(await words.allTextContents()).toEqual(["off", "auto", "on"]);
    // What lies over a word must not hide it.
    const covers: string[] = await visited.page.evaluate(
      `[...document.querySelectorAll(".segments label span")].map((word) => {
        const { x, y, width, height } = word.getBoundingClientRect();
        const top = document.elementFromPoint(x + width / 2, y + height / 2);
        return top === word ? "" : getComputedStyle(top).backgroundColor;
      })`,
    );
    for (const colour of covers) expect(["", "rgba(0, 0, 0, 0)"]).toContain(colour);
  });

  test("is accessible everywhere, by the rules of axe, in light and in dark colours", async () => {
    await using app = await fullApp();
    await using visited = await visit(app.origin, { colorScheme: "light" });
    const { page } = visited;
    await page.evaluate(axe.source);
    const violations: unknown[] = [];
    for await (const place of walk(page)) {
      for (const [colorScheme, options] of [
        // The other rules find the same in all colours.
        ["dark", '{ runOnly: ["color-contrast", "link-in-text-block"] }'],
        ["light", "{}"],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.locator(`html[data-theme=${colorScheme}]`).waitFor({ state: "attached" });
        const found: axe.Result[] = await page.evaluate(
          `axe.run(${options}).then(({ violations }) => violations)`,
        );
        violations.push(
          ...found.map(({ id, nodes }) => [place, colorScheme, id, nodes.map(({ html }) => html)]),
        );
      }
    }
    expect(violations).toEqual([]);
  });

  test("never scrolls sideways on a narrow screen", async () => {
    await using app = await fullApp();
    await using visited = await visit(app.origin, { viewport: { width: 360, height: 640 } });
    const { page } = visited;
    const widths: [string, unknown][] = [];
    for await (const place of walk(page)) {
      widths.push([place, await page.evaluate("document.documentElement.scrollWidth")]);
    }
    expect(widths).toEqual([
      ["an empty conversation", 360],
      ["an answer with sources", 360],
      ["the choice of collections", 360],
      ["a document", 360],
      ["the settings", 360],
      ["documents", 360],
      ["a removal", 360],
      ["a new collection", 360],
      ["passages", 360],
      ["models", 360],
      ["a model's removal", 360],
      ["the node", 360],
    ]);
    const tab: number = await page.evaluate(
      `document.getElementById("tab-node").getBoundingClientRect().right`,
    );
    expect(tab).toBeLessThanOrEqual(360);
    await page.getByRole("tab", { name: "Chat" }).click();
    await page.getByRole("button", { name: "Conversations" }).click();
    expect(await page.getByRole("button", { name: "New conversation" }).isVisible()).toBe(true);
  });

  test("takes the system's colours until others are chosen, and remembers those", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin, { colorScheme: "dark" });
    const { page } = visited;
    const ground = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    const dark = await ground();
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("button", { name: "Dark colours" }).waitFor();
    const light = await ground();
    expect(light).not.toBe(dark);
    await page.getByRole("button", { name: "Dark colours" }).click();
    expect(await ground()).toBe(dark);
    await page.reload();
    await page.getByRole("button", { name: "Light colours" }).waitFor();
    expect(await ground()).toBe(dark);
  });
});
