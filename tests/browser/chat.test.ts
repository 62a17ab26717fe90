import { describe, expect, test } from "bun:test";
import { answers, ask, browserPath, stopLongTimers, visit } from "../support/browser.ts";
import { listeningApp } from "../support/listening-app.ts";
import { finish } from "../support/scripted-engines.ts";
import { waitFor } from "../support/wait-for.ts";

/** What a new conversation has. */
const system = "You are a helpful assistant.";
const text = (words: string) => ({ type: "text", text: words }) as const;

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the chat", () => {
  test("shows an answer as it comes, and tells a screen reader once, when it is whole", async () => {
    await using app = listeningApp();
    const more = Promise.withResolvers<void>();
    app.chat.script(text("Llamas **hum"), () => more.promise, text("** softly."), finish);
    await using visited = await visit(app.origin);
    const { page, complaints } = visited;
    await ask(page, "What do llamas do?");
    await answers(page).getByText("Llamas **hum").waitFor();
    const status = page.locator("#page > [role=status]");
    expect(await status.textContent()).toBe("The node is answering.");
    expect(await answers(page).getAttribute("aria-busy")).toBe("true");
    more.resolve();
    await page.locator("[aria-busy=false]").waitFor();
    expect(await answers(page).locator("strong").textContent()).toBe("hum");
    expect(await status.textContent()).toBe("Answer: Llamas **hum** softly.");
    expect(complaints).toEqual([]);
  });

  test("says how many tokens an answer took, how fast they came and when the first did", async () => {
    await using app = listeningApp();
    const more = Promise.withResolvers<void>();
    const usage = { ...finish.usage, promptTokens: 12, completionTokens: 34 };
    app.chat.script(text("Hum"), () => more.promise, text("ming"), { ...finish, usage });
    await using visited = await visit(app.origin);
    await ask(visited.page, "q");
    await answers(visited.page).getByText("Hum").waitFor();
    more.resolve();
    expect(await answers(visited.page).locator(".measures").textContent()).toMatch(
      /^Prompt12 tokensAnswer34 tokensSpeed[\d.]+ tokens\/sFirst token\d+\.\d\d s$/,
    );
  });

  test("stops an answer, keeps what there is of it, and frees the engine", async () => {
    await using app = listeningApp();
    const never = Promise.withResolvers<void>();
    app.chat.script(text("As I was"), () => never.promise, text(" saying"), finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await ask(page, "Go on");
    await answers(page).getByText("As I was").waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("You stopped this answer.").waitFor();
    expect(await answers(page).locator(".markdown").textContent()).toBe("As I was");
    await page.locator("#question:focus").waitFor();
    never.resolve();
    await waitFor("the generation to end", () => app.chat.ended === 1);
  });

  test("says beside the first questions what a weak model cannot do, and the command for a better one", async () => {
    const advice = "It is small: bun paddock pull a-better-one";
    await using app = listeningApp({ advice });
    await using visited = await visit(app.origin);
    await visited.page.locator(".starter-questions").getByText(advice).waitFor();
  });

  test("begins with a question whose own settings the panel shows", async () => {
    await using app = listeningApp();
    app.chat.script({ type: "text", text: "Paris." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Temperature").fill("0.5");
    await page.getByRole("button", { name: "What is the capital of France?" }).click();
    await answers(page).getByText("Paris.").waitFor();
    expect(await page.getByLabel("Temperature").inputValue()).toBe("0");
  });

  test("has its Stop in reach on a small screen, and Escape stops from anywhere", async () => {
    await using app = listeningApp();
    const never = Promise.withResolvers<void>();
    const lines = text("A line of the answer.\n\n".repeat(100));
    app.chat.script(lines, () => never.promise, finish);
    await using visited = await visit(app.origin, { viewport: { width: 360, height: 560 } });
    const { page } = visited;
    await page.getByRole("button", { name: "Settings" }).click();
    await ask(page, "Go on");
    await answers(page).getByText("A line of the answer.").last().waitFor();
    const box = await page.getByRole("button", { name: "Stop", exact: true }).boundingBox();
    if (box === null) throw new Error("There is no Stop");
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(360);
    expect(box.y + box.height).toBeLessThanOrEqual(560);
    await page.getByRole("button", { name: "Settings" }).focus();
    await page.keyboard.press("Escape");
    await page.getByText("You stopped this answer.").waitFor();
    never.resolve();
  });

  test("asks again in place of the last answer, and sends the whole conversation", async () => {
    await using app = listeningApp();
    app.chat
      .script(text("One."), finish)
      .script(text("Two."), finish)
      .script(text("Three."), finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await ask(page, "first");
    await answers(page).getByText("One.").waitFor();
    await page.getByRole("button", { name: "Retry this answer" }).click();
    await answers(page).getByText("Two.").waitFor();
    expect(await answers(page).count()).toBe(1);
    await page.locator("[aria-busy=false]").waitFor();
    await ask(page, "second");
    await answers(page).getByText("Three.").waitFor();
    expect(app.chat.requests.map(({ messages }) => messages.map(({ content }) => content))).toEqual(
      [
        [system, "first"],
        [system, "first"],
        [system, "first", "Two.", "second"],
      ],
    );
  });

  test("sends the system prompt and the settings, and leaves out what is empty", async () => {
    await using app = listeningApp();
    app.chat.script(text("Yes."), finish).script(text("No."), finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("System prompt").fill("Be brief.");
    await page.getByLabel("Temperature").fill("0.25");
    await page.getByLabel("Top p").fill("0.5");
    await page.getByLabel("Most tokens").fill("7");
    await page.getByLabel("Seed").fill("42");
    const request = page.waitForRequest("**/v1/chat/completions");
    await ask(page, "q");
    expect((await request).postDataJSON()).toEqual({
      model: "chatty",
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.25,
      top_p: 0.5,
      max_tokens: 7,
      seed: 42,
      rag: false,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "q" },
      ],
    });
    await answers(page).getByText("Yes.").waitFor();
    for (const label of ["Temperature", "Top p", "Most tokens", "Seed", "System prompt"]) {
      await page.getByLabel(label).fill("");
    }
    const second = page.waitForRequest("**/v1/chat/completions");
    await ask(page, "r");
    expect(Object.keys((await second).postDataJSON()).sort()).toEqual([
      "max_tokens",
      "messages",
      "model",
      "rag",
      "stream",
      "stream_options",
    ]);
  });

  test("begins with three questions that are asked by a click", async () => {
    await using app = listeningApp();
    app.chat.script(text("Paris."), finish);
    await using visited = await visit(app.origin);
    const examples = visited.page.locator(".starter-questions").getByRole("button");
    await examples.first().click();
    await answers(visited.page).getByText("Paris.").waitFor();
    expect(app.chat.requests[0]?.messages.map(({ content }) => content)).toEqual([
      system,
      "What is the capital of France?",
    ]);
  });

  test("copies an answer and a block of code", async () => {
    await using app = listeningApp();
    app.chat.script(text("Run:\n\n```sh\nbun start\n```\n"), finish);
    await using visited = await visit(app.origin, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const { page } = visited;
    // "Copied" is shown for a moment only.
    await stopLongTimers(page);
    await ask(page, "q");
    const copied = () => page.evaluate("navigator.clipboard.readText()");
    await page.getByRole("button", { name: "Copy code" }).click();
    await page.getByText("Copied").first().waitFor();
    expect(await copied()).toBe("bun start");
    await page.getByRole("button", { name: "Copy answer" }).click();
    await page.locator("footer").getByText("Copied").waitFor();
    expect(await copied()).toBe("Run:\n\n```sh\nbun start\n```\n");
  });

  test("shows a reasoning model's thoughts apart from its answer", async () => {
    await using app = listeningApp();
    app.chat.script({ type: "reasoning", text: "Let me think." }, text("Hum."), finish);
    await using visited = await visit(app.origin);
    await ask(visited.page, "q");
    await answers(visited.page).getByText("Hum.").waitFor();
    await visited.page.getByText("Thoughts").click();
    await visited.page.getByText("Let me think.").waitFor();
    expect(await visited.page.locator(".markdown").textContent()).toBe("Hum.");
  });
});
