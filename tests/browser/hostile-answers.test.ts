import { describe, expect, test } from "bun:test";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { listeningApp } from "../support/listening-app.ts";
import { passage } from "../support/passages.ts";
import { finish } from "../support/scripted-engines.ts";

const elsewhere = "http://elsewhere.invalid";

/** What would say so if it ran: the title is the witness. */
const run = "document.title='HACKED'";

const attacks = [
  `<script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `<img src="${elsewhere}/pixel.png">`,
  `![pixel](${elsewhere}/pixel.png)`,
  `![x](javascript:${run})`,
  `[click](javascript:${run})`,
  `[click](JaVaScRiPt:${run})`,
  `[click](java\tscript:${run})`,
  `[click](&#106;avascript:${run})`,
  `[click](data:text/html,<script>${run}</script>)`,
  `[click](vbscript:x)`,
  `[click](//elsewhere.invalid/relative)`,
  `<javascript:${run}>`,
  `<style>body{display:none;background:url(${elsewhere}/style.png)}</style>`,
  `<p style="background:url(${elsewhere}/inline.png)">x</p>`,
  `<iframe src="${elsewhere}/frame.html"></iframe>`,
  `<iframe srcdoc="<script>parent.${run}</script>"></iframe>`,
  `<svg onload="${run}"><script>${run}</script></svg>`,
  `<svg><image href="${elsewhere}/svg.png"/></svg>`,
  `<math><mtext><img src=x onerror="${run}"></mtext></math>`,
  `<meta http-equiv="refresh" content="0;url=${elsewhere}/refresh">`,
  `<base href="${elsewhere}/">`,
  `<link rel="stylesheet" href="${elsewhere}/link.css">`,
  `<form action="${elsewhere}/form"><button>Send</button></form>`,
  `<object data="${elsewhere}/object"></object><embed src="${elsewhere}/embed">`,
  `<details open ontoggle="${run}"><summary>x</summary></details>`,
  `<a href="javascript:${run}">click</a>`,
  `[ref]: javascript:${run}\n\n[click][ref]`,
  `\`\`\`html\n<script>${run}</script>\n\`\`\``,
  `\`<img src=x onerror=${run}>\``,
];

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("a hostile answer", () => {
  test("runs nothing, loads nothing, links to nothing that runs, and is shown as it was written", async () => {
    await using app = listeningApp();
    app.chat.script({ type: "text", text: attacks.join("\n\n") }, finish);
    await using visited = await visit(app.origin);
    const { page, complaints, strangers } = visited;
    await ask(page, "q");
    await page.locator("[aria-busy=false]").waitFor();
    const answer = answers(page).locator(".markdown");
    // Whatever looks like something to click is clicked.
    for (const link of await answer.locator("a").all()) {
      const [opened] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
      await opened.close();
    }
    expect({
      title: await page.title(),
      address: page.url(),
      complaints,
      strangers,
      parsed: await answer
        .locator("script, img, style, iframe, svg, meta, base, link, form, object, embed, math")
        .count(),
      handlers: await page.evaluate(
        "[...document.querySelectorAll('.markdown *')].filter((one) => [...one.attributes].some(({ name }) => /^on|^style$|^srcdoc$/.test(name))).length",
      ),
    }).toEqual({
      title: "Chat – Paddock",
      address: `${app.origin}/`,
      complaints: [],
      strangers: [],
      parsed: 0,
      handlers: 0,
    });
    const links = await answer
      .locator("a")
      .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    expect(links).toEqual([`${elsewhere}/pixel.png`]);
    const shown = await answer.textContent();
    expect(shown).toContain(`<script>${run}</script>`);
    expect(shown).toContain(`<meta http-equiv="refresh"`);
  });

  test("cannot do it as its sources, its thoughts or a conversation's title either", async () => {
    await using app = listeningApp();
    const attack = `<img src="${elsewhere}/x.png" onerror="${run}">`;
    await app.repository.upsert([
      passage(1, [1, 1], { source: attack, document: attack, heading: attack }),
    ]);
    app.chat.script({ type: "reasoning", text: attack }, { type: "text", text: "Hum" }, finish);
    await using visited = await visit(app.origin);
    const { page, complaints, strangers } = visited;
    await page.getByRole("radio", { name: "on", exact: true }).check();
    await ask(page, attack);
    await page.getByText("Thoughts").click();
    expect(await page.locator("img").count()).toBe(0);
    expect([await page.title(), complaints, strangers]).toEqual(["Chat – Paddock", [], []]);
  });

  test("that is nested without end is shown as text", async () => {
    await using app = listeningApp();
    app.chat.script({ type: "text", text: `${">".repeat(20_000)}deep` }, finish);
    app.chat.script({ type: "text", text: `${"- ".repeat(400)}deep` }, finish);
    await using visited = await visit(app.origin);
    const { page, complaints } = visited;
    for (const question of ["quotes", "lists"]) {
      await ask(page, question);
      await answers(page).last().getByText("deep").waitFor();
      await page.locator("[aria-busy=true]").waitFor({ state: "detached" });
    }
    expect(complaints).toEqual([]);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the page's own policy", () => {
  test("refuses markup from text, scripts and images from elsewhere", async () => {
    await using app = listeningApp();
    await using visited = await visit(app.origin);
    const { page } = visited;
    const refused = await page.evaluate(`(async () => {
      const seen = [];
      addEventListener("securitypolicyviolation", ({ effectiveDirective }) => seen.push(effectiveDirective));
      try { document.body.innerHTML = "<b>x</b>"; } catch { seen.push("markup"); }
      const image = new Image();
      image.src = "${elsewhere}/image.png";
      await new Promise((resolve) => image.addEventListener("error", resolve));
      await fetch("${elsewhere}/data").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve));
      return [...new Set(seen)].sort();
    })()`);
    expect(refused).toEqual(["connect-src", "img-src", "markup", "require-trusted-types-for"]);
  });
});
