import { describe, expect, test } from "bun:test";
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../../src/core/errors.ts";
import type { KeyRing } from "../../src/core/limits/api-key.ts";
import { answers, ask, browserPath, visit } from "../support/browser.ts";
import { listeningApp } from "../support/listening-app.ts";
import { type Answer, type Asked, honest, modelServer } from "../support/model-server.ts";
import { servePaddock } from "../support/paddock-process.ts";
import { randomLlama } from "../support/random-llama.ts";
import { finish } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";
import { chatModel, madeAt } from "../support/test-models.ts";
import { save, tinyModels } from "../support/tiny-models.ts";
import { waitFor } from "../support/wait-for.ts";

/** Half of the file, and then nothing until the client leaves. */
const half =
  (whole: Uint8Array) =>
  (asked: Asked): Answer => {
    const { body, ...rest } = honest(whole)(asked);
    if (!(body instanceof Uint8Array)) return { ...rest };
    const headers = { ...rest.headers, "content-length": String(body.length) };
    return { ...rest, headers, body: body.slice(0, whole.length / 2), ending: "stall" };
  };

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("a real node's models", () => {
  test("are loaded, unloaded, pulled, asked and deleted without an edit or a restart", async () => {
    await using folder = await tempDir();
    const models = join(folder.path, ".paddock", "models");
    await mkdir(models, { recursive: true });
    await copyFile((await tinyModels()).chat, join(models, "base.gguf"));
    const larger = join(folder.path, "larger.gguf");
    await save(
      larger,
      randomLlama({
        ...{ name: "larger", size: 32, hidden: 64, layers: 4, heads: 2, context: 512 },
        ...{ type: "f32", words: ["\u2581the", "\u2581a"] },
      }),
    );
    const whole = await Bun.file(larger).bytes();
    let answer = half(whole);
    await using hub = await modelServer((asked) => answer(asked));
    await Bun.write(
      join(folder.path, "paddock.toml"),
      "[vectorstore]\nhandbook = false\n[engine]\nthreads = 1\n",
    );
    await using node = await servePaddock({ cwd: folder.path, env: { HF_ENDPOINT: hub.url } });
    await using visited = await visit(node.origin, { path: "/#models" });
    const { page, complaints, strangers } = visited;
    const row = (name: string) => page.locator(".model", { hasText: name });

    await row("base").getByText("Not in memory").waitFor();
    await page.getByRole("img", { name: /^Models .* Free .*, of .*\.$/ }).waitFor();
    await page.getByRole("button", { name: "Load base" }).click();
    await row("base").getByText("In memory").waitFor();
    await row("base")
      .getByText(/^Uses .* of memory, until .* unless it is used$/)
      .waitFor();
    await page.getByRole("button", { name: "Unload base" }).click();
    await row("base").getByText("Not in memory").waitFor();
    // It was not pulled, so the node does not delete it.
    expect(await page.getByRole("button", { name: "Delete base" }).count()).toBe(0);

    await page.getByLabel("Source").fill("hf:owner/repo/larger.gguf");
    await page.getByRole("button", { name: "Pull", exact: true }).click();
    const progress = page.getByRole("progressbar", { name: "Pull of hf:owner/repo/larger.gguf" });
    await page.getByText(/^50 %, \d+ kB of \d+ kB/).waitFor();
    expect(await progress.getAttribute("value")).toBe("50");
    await page.getByRole("tab", { name: "Chat" }).click();
    await page.locator(".composer .model", { hasText: "base" }).waitFor();
    await page.getByRole("tab", { name: "Models" }).click();
    await page.getByText(/^50 %, /).waitFor();
    await page.getByRole("button", { name: "Cancel this pull" }).click();
    await page.locator(".outcome").getByText("Cancelled.").waitFor();
    answer = honest(whole);
    await page.getByRole("button", { name: "Pull it again" }).click();
    await page.locator(".outcome").getByText("larger is here, and answers.").waitFor();
    await row("larger").getByText("Not in memory").waitFor();

    // It fits and is larger, so new conversations use it.
    await page.getByRole("tab", { name: "Chat" }).click();
    await page.locator(".composer .model", { hasText: "larger" }).waitFor();
    await page.getByRole("button", { name: "Settings" }).click();
    expect(
      await page.getByLabel("Model", { exact: true }).locator("option").allTextContents(),
    ).toEqual(["larger", "base"]);
    await page.getByText("It is not in memory. Your next question loads it").waitFor();
    await page.getByLabel("Most tokens").fill("4");
    await ask(page, "Hi");
    await answers(page).and(page.locator("[aria-busy=false]")).locator(".measures").waitFor();
    expect(await answers(page).getAttribute("aria-label")).toBe("Answer of larger");
    await page.getByText("It is not in memory.").waitFor({ state: "detached" });

    await page.getByRole("tab", { name: "Models" }).click();
    await row("larger").getByText("In memory").waitFor();
    await page.getByRole("button", { name: "Delete larger" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete “larger”?" });
    await dialog.getByRole("button", { name: "Keep it" }).click();
    expect(await row("larger").count()).toBe(1);
    await page.getByRole("button", { name: "Delete larger" }).click();
    await dialog.getByRole("button", { name: "Delete it" }).click();
    await row("larger").waitFor({ state: "detached" });
    expect((await readdir(models)).join()).not.toContain("larger");
    await page.getByRole("tab", { name: "Chat" }).click();
    await page.locator(".composer .model", { hasText: "base" }).waitFor();
    expect([complaints, strangers]).toEqual([[], []]);
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the model of a new conversation", () => {
  test("is the one that was chosen last, also if another becomes the node's first", async () => {
    await using app = listeningApp();
    for (const name of ["second", "third"]) app.models.add(chatModel(name, app.chat));
    app.chat.script({ type: "text", text: "Hm." }, finish);
    await using visited = await visit(app.origin);
    const { page } = visited;
    const used = (name: string) => page.locator(".composer .model", { hasText: name });
    await used("chatty").waitFor();
    // Nothing was chosen yet, and a user comes back from a terminal.
    app.models.putFirst("second");
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await used("second").waitFor();
    app.models.putFirst("third");
    await page.getByRole("button", { name: "Settings" }).click();
    await used("third").waitFor();
    await page.getByLabel("Model", { exact: true }).selectOption("second");
    await ask(page, "Hi");
    await answers(page).getByText("Hm.").waitFor();
    app.models.putFirst("chatty");
    await page.reload();
    await used("second").waitFor();
    await page.getByRole("button", { name: "New conversation" }).first().click();
    await page.locator(".starter-questions").waitFor();
    await used("second").waitFor();
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("the models' buttons", () => {
  test("are not shown to a key that may not use them, and come with another", async () => {
    const own = { id: "k", name: "k", limits: {}, quota: {}, createdAt: madeAt };
    const ring: KeyRing = {
      hasKeys: () => true,
      find: (text) => ({ ...own, scopes: [text === "manages" ? "models" : "chat"] }),
      byId: () => undefined,
    };
    await using app = listeningApp({ ring });
    app.models.add({
      ...chatModel("chatty", app.chat),
      ...{ load: async () => {}, unload: async () => {} },
    });
    await using visited = await visit(app.origin, { path: "/#models" });
    const { page } = visited;
    const enter = async (button: string, key: string): Promise<void> => {
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("textbox", { name: "API key" }).fill(key);
      await page.keyboard.press("Enter");
    };
    await page.getByText("you need a key with the scope models").waitFor();
    await enter("Enter a key", "chats");
    await page.getByText("it lacks the scope models").waitFor();
    await page.getByRole("button", { name: "Chat with chatty" }).waitFor();
    expect(await page.getByRole("button", { name: /load|Pull|Delete/ }).count()).toBe(0);
    await enter("Use another key", "manages");
    await page.getByRole("button", { name: "Unload chatty" }).waitFor();
    // A model in the node's own process stays.
    expect(await page.getByRole("button", { name: "Unload vectors" }).count()).toBe(0);
    await page.getByRole("heading", { name: "Get a model" }).waitFor();
  });

  test("say why what they do fails", async () => {
    const asked: string[] = [];
    await using app = listeningApp({
      library: {
        mayRemove: (name) => name === "chatty",
        memory: async () => ({ total: 8e9, free: 8e9, models: 3e9 }),
        pull: async (source) => {
          asked.push(source);
          throw new NodeError("unavailable", "The disk is full.");
        },
        remove: () => Promise.reject(new NodeError("unavailable", "The file is in use.")),
      },
    });
    app.models.add({
      ...chatModel("chatty", app.chat),
      residence: () => ({ state: "unloaded" }),
      load: () => Promise.reject(new NodeError("unavailable", "It needs 9 GB.")),
      unload: async () => {},
    });
    await using visited = await visit(app.origin, { path: "/#models" });
    const { page } = visited;
    await page.getByRole("button", { name: "Load chatty" }).click();
    await page.getByRole("alert").getByText("It needs 9 GB.").waitFor();
    // The others need more than models may use.
    expect(await page.locator(".suggestion .name").allTextContents()).toEqual(["Qwen3 0.6B"]);
    await page.getByRole("button", { name: "Pull Qwen3 0.6B" }).click();
    await page.getByRole("alert").getByText("The disk is full.").waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    const source = "hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf";
    await waitFor("a second pull", () => asked.length === 2);
    expect(asked).toEqual([source, source]);
    await page.getByRole("button", { name: "Delete chatty" }).click();
    await page.getByRole("button", { name: "Delete it" }).click();
    await page.getByRole("dialog").getByText("The file is in use.").waitFor();
  });
});
