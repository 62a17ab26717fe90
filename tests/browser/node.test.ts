import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { frontConfig } from "../support/front-node.ts";
import { listeningApp } from "../support/listening-app.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { listeningNode, tinyConfig, tinyNode } from "../support/tiny-node.ts";

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("a real node's page", () => {
  test("chats, stops, searches what was ingested and shows the node, without a complaint", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
    await writeFile(join(folder.path, "animals.md"), "# Llamas\n\nllamas hum when content.");
    const ingested = await runPaddock(["ingest", "animals.md"], { cwd: folder.path });
    expect(ingested.code).toBe(0);
    await using node = await servePaddock({ cwd: folder.path });
    await using visited = await visit(node.origin);
    const { page, complaints, strangers } = visited;

    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Most tokens").fill("24");
    // What was ingested is the reader's own, so that it is answered from by default.
    await page.getByRole("radio", { name: "auto", checked: true }).waitFor();
    await ask(page, "llamas hum when content");
    await page.getByRole("complementary", { name: "Sources of this answer" }).waitFor();
    expect(await answers(page).locator(".measures").textContent()).toMatch(
      /Prompt\d+ tokensAnswer\d+ tokens/,
    );
    expect(await page.locator(".sources strong").textContent()).toBe("animals.md");

    // The end token is banned, so that there is something to stop.
    await page.route("**/v1/chat/completions", (route, request) =>
      route.continue({ postData: { ...request.postDataJSON(), logit_bias: { "2": -100 } } }),
    );
    await page.getByLabel("Most tokens").fill("1500");
    await page.getByRole("radio", { name: "off", exact: true }).check();
    // The click is awaited within the page, so that a quick model does not end first.
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    await Promise.all([stop.click(), ask(page, "go on")]);
    await page.getByText("You stopped this answer.").waitFor();

    await page.getByRole("tab", { name: "Knowledge" }).click();
    await page.getByLabel("Question").fill("llamas hum when content");
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator(".passage").getByText("llamas hum when content.").waitFor();

    await page.getByRole("tab", { name: "Node" }).click();
    await page.getByText("The node is ready: every model and the collection are.").waitFor();
    expect(await page.locator(".card h4").allTextContents()).toEqual([
      "tiny-chat",
      "tiny-embedding",
    ]);
    expect([complaints, strangers]).toEqual([[], []]);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("a model that runs upstream", () => {
  test("is shown with who serves it, and where", async () => {
    await using upstream = await tinyNode();
    await using front = await listeningNode(frontConfig(upstream.baseUrl, { key: "" }));
    await using visited = await visit(new URL(front.baseUrl).origin);
    const { page, complaints } = visited;
    await page.getByRole("tab", { name: "Node" }).click();
    const facts = page.getByRole("article", { name: "tiny-chat" });
    const shown = await facts.locator("dl").textContent();
    expect(shown).toContain("Runs upstreamPaddock");
    expect(shown).toContain(upstream.baseUrl);
    expect(shown).not.toContain("GPU layers");
    expect(complaints).toEqual([]);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the node's load", () => {
  test("is drawn from its metrics, asked for again and again", async () => {
    await using app = listeningApp();
    let tokens = 1000;
    app.instead = ({ url }) => {
      if (!url.endsWith("/metrics")) return undefined;
      tokens += 50;
      return new Response(`# HELP paddock_queue_length Requests that wait. paddock_queue_length 99
# TYPE paddock_queue_length gauge
paddock_queue_length{model="a"} 2
paddock_queue_length{model="b {odd} 7"} 1
paddock_queue_length{model="no number"} NaN
paddock_slots{model="a"} 4
paddock_slots_in_use{model="a"} 1
paddock_generated_tokens_total{model="a",kind="x"} ${tokens} 1794739783509
paddock_generated_tokens_total{model="b"} 1.5e3
process_cpu_seconds_total 12
`);
    };
    await using visited = await visit(app.origin, { path: "/#node" });
    const { page } = visited;
    await page.getByText("1 of 4 slots answer right now.").waitFor();
    await page.getByText("3 waiting").waitFor();
    const speed = page.getByRole("img", { name: "Tokens a second" });
    await page.locator(".sparkline polyline[points*=' ']").first().waitFor();
    expect(await speed.getAttribute("aria-label")).toMatch(
      /^Tokens a second over the last two minutes: now [1-9][\d.]* tokens\/s, at most [1-9][\d.]*\.$/,
    );
  });

  test("is not drawn where the node has no metrics, and the page says so", async () => {
    await using app = listeningApp();
    app.instead = ({ url }) =>
      url.endsWith("/metrics") ? new Response("", { status: 404 }) : undefined;
    await using visited = await visit(app.origin, { path: "/#node" });
    await visited.page
      .getByText("This node reports no metrics, so there is no picture of its load.")
      .waitFor();
  });

  test("comes with the reasons why the node is not ready", async () => {
    await using app = listeningApp({ unprepared: true });
    await using visited = await visit(app.origin, { path: "/#node" });
    const { page } = visited;
    await page.getByText("Not ready yet").waitFor();
    expect(await page.locator(".health li").allTextContents()).toContain(
      "The model 'chatty' is being prepared.",
    );
  });
});
