import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../../src/core/errors.ts";
import { errorResponse } from "../../src/server/middleware/errors.ts";
import { FileObject } from "../../src/server/operations/files/schema.ts";
import { pageSchema } from "../../src/server/wire/page-schema.ts";
import { SqliteKeys } from "../../src/store/keys/sqlite-keys.ts";
import { browserPath, visit } from "../support/browser.ts";
import { chooseFiles, dropPath, failedUpload, readyDocument } from "../support/documents-page.ts";
import { listeningDocuments } from "../support/listening-documents.ts";
import { tempDir } from "../support/temp-dir.ts";

const path = "/#documents";
/** Takes a while to send, and has one passage. */
const large = { name: "large.html", text: `<!--${"x".repeat(4_800_000)}--><p>llamas hum</p>` };
const stopping = new NodeError("unavailable", "The node is stopping. Try again later.");
const notes = { name: "notes.md", text: "llamas hum" };

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("an upload that fails is said in a sentence", () => {
  test("and can be tried again: the network is gone, then the node is stopping", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    await page.getByRole("heading", { name: "default" }).waitFor();
    await page.context().setOffline(true);
    await chooseFiles(page, notes);
    const failed = failedUpload(page, "notes.md");
    await failed.getByText("The node cannot be reached.").waitFor();
    await page.context().setOffline(false);
    app.instead = ({ method }) => (method === "POST" ? errorResponse(stopping) : undefined);
    await failed.getByRole("button", { name: "Try again" }).click();
    await failed.getByText("The node is not ready for this. The node is stopping.").waitFor();
    app.instead = () => undefined;
    await failed.getByRole("button", { name: "Try again" }).click();
    await readyDocument(page, "notes.md").waitFor();
    expect(await failed.count()).toBe(0);
  });

  test("with what was sent kept, where only adding it failed", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    await page.getByRole("heading", { name: "default" }).waitFor();
    app.instead = ({ method, url }) =>
      method === "POST" && url.endsWith("/vs_default/files") ? errorResponse(stopping) : undefined;
    await chooseFiles(page, notes);
    const failed = failedUpload(page, "notes.md");
    await failed.getByText("The node is stopping.").waitFor();
    app.instead = () => undefined;
    await failed.getByRole("button", { name: "Try again" }).click();
    await readyDocument(page, "notes.md").waitFor();
    expect((await app.client.ask(pageSchema(FileObject))("GET", "/files")).data).toHaveLength(1);
  });

  test("before it is sent, where it is larger than the node takes", async () => {
    await using app = await listeningDocuments({ maxFileBytes: 1000 });
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    await page.getByText("at most 1 kB each").waitFor();
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push(request.url());
    });
    await chooseFiles(page, { name: "large.txt", text: "x".repeat(2500) });
    const failed = failedUpload(page, "large.txt");
    await failed.getByText("It has 3 kB, and this node takes files of at most 1 kB.").waitFor();
    expect(await failed.getByRole("button", { name: "Try again" }).count()).toBe(0);
    expect(sent).toEqual([]);
  });

  test("in the node's words, where the quota is used up", async () => {
    const quota = { node: { bytes: 5, passages: 0 } };
    await using app = await listeningDocuments({ documents: { quota }, maxFileBytes: 1e8 });
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    await page.getByRole("heading", { name: "default" }).waitFor();
    // The node refuses it while it is still being sent.
    await chooseFiles(page, large);
    const failed = failedUpload(page, large.name);
    await failed.getByText("This node holds 5 bytes of files (documents.max_bytes)").waitFor();
    expect(await failed.getByRole("button", { name: "Try again" }).count()).toBe(1);
  });

  test("and one that is cancelled on its way leaves nothing", async () => {
    await using app = await listeningDocuments();
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    await page.getByRole("heading", { name: "default" }).waitFor();
    const browser = await page.context().newCDPSession(page);
    await browser.send("Network.emulateNetworkConditions", {
      ...{ offline: false, latency: 0, downloadThroughput: -1 },
      uploadThroughput: 100_000,
    });
    await chooseFiles(page, { name: "slow.txt", text: "x".repeat(1_000_000) });
    await page.getByText(/^[1-9]\d? % of 1.0 MB$/).waitFor();
    await page.getByRole("button", { name: "Cancel the upload of slow.txt" }).click();
    expect(await page.getByRole("region", { name: "Uploads" }).count()).toBe(0);
    expect((await app.client.ask(pageSchema(FileObject))("GET", "/files")).data).toEqual([]);
    await page.getByText("This collection holds nothing yet.").waitFor();
  });

  test("where a folder was dropped with nothing in it that can be seen", async () => {
    await using app = await listeningDocuments();
    await using folder = await tempDir();
    await writeFile(join(folder.path, ".hidden"), "secret");
    await using visited = await visit(app.origin);
    const { page } = visited;
    await page.getByRole("radio", { name: "off", exact: true }).waitFor();
    await dropPath(page, folder.path);
    await page.getByText("There are no files in what was dropped.").waitFor();
  });
});

// Where there is no browser, tests/support/browser.ts says so.
describe.skipIf(browserPath === undefined)("documents and keys", () => {
  test("a key without the scope is told what is missing, and sees no buttons that fail", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(join(folder.path, "keys.sqlite"));
    const asking = keys.create({ name: "asking", scopes: ["chat", "retrieve"] }).text;
    const filling = keys.create({ name: "filling", scopes: ["chat", "documents"] }).text;
    await using app = await listeningDocuments({ ring: keys });
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    const give = async (key: string): Promise<void> => {
      await page.getByRole("dialog").getByLabel("API key", { exact: true }).fill(key);
      await page.keyboard.press("Enter");
    };
    await give("a-wrong-key");
    await page.getByText("The API key is not one of this node's.").waitFor();
    await give(asking);
    await page.getByText("Your key does not open documents: it lacks the scope").waitFor();
    await page
      .getByText("The API key 'asking' does not open 'documents'; it opens 'chat', 'retrieve'.")
      .waitFor();
    const buttons = page.getByRole("tabpanel").getByRole("button");
    expect(await buttons.allTextContents()).toEqual(["Use another key"]);
    await buttons.click();
    await give(filling);
    await chooseFiles(page, notes);
    await readyDocument(page, "notes.md").waitFor();
  });

  test("a key that is refused while files are sent is asked for, and the upload goes on", async () => {
    await using app = await listeningDocuments({ keys: ["a-long-secret"], maxFileBytes: 1e8 });
    await using visited = await visit(app.origin, { path });
    const { page } = visited;
    const field = page.getByRole("dialog").getByLabel("API key", { exact: true });
    await field.fill("a-long-secret");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "default" }).waitFor();
    let refused = false;
    app.instead = ({ method, url }) => {
      if (refused || method !== "POST" || !url.endsWith("/v1/files")) return undefined;
      refused = true;
      const message = "The API key was revoked.";
      return Response.json({ error: { message, code: "invalid_api_key" } }, { status: 401 });
    };
    await chooseFiles(page, large);
    await page.getByText("The API key was revoked.").waitFor();
    await field.fill("a-long-secret");
    await page.keyboard.press("Enter");
    await readyDocument(page, large.name).waitFor();
  });
});
