/** Pages of other origins, in a real browser, beside a node without keys on loopback. */
import { describe, expect, test } from "bun:test";
import { browserPath, visit } from "../support/browser.ts";
import { listeningApp } from "../support/listening-app.ts";
import { waitFor } from "../support/wait-for.ts";

/** What a page can send anywhere without asking first, as a browser has it. */
const script = (node: string): string => `
  const form = () => {
    const data = new FormData();
    data.append("purpose", "assistants");
    data.append("file", new Blob(["# Planted"]), "planted.md");
    return data;
  };
  const post = (path, body, type) => fetch("${node}" + path, {
    method: "POST", mode: "no-cors", body, headers: type === undefined ? {} : { "content-type": type },
  });
  await post("/v1/files", form());
  await post("/v1/responses/resp_1/cancel", "");
  await post("/v1/vector_stores", "{}", "text/plain");
  navigator.sendBeacon("${node}/v1/files", form());
  await fetch("${node}/health", { mode: "no-cors" });
`;

describe.skipIf(browserPath === undefined)("a page of another origin", () => {
  test.each(["127.0.0.1", "localhost"])("changes nothing on the node, from %s", async (host) => {
    await using app = listeningApp();
    const html = `<!doctype html>
      <form method="post" enctype="multipart/form-data" action="${app.origin}/v1/files">
        <input name="purpose" value="assistants"><textarea name="file">planted</textarea>
        <button>Send</button>
      </form>`;
    await using other = Bun.serve({
      ...{ port: 0, hostname: host },
      fetch: () => new Response(html, { headers: { "content-type": "text/html" } }),
    });
    await using visited = await visit(`http://${host}:${other.port}`);
    const { page } = visited;
    await page.evaluate(`(async () => { ${script(app.origin)} })()`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.waitForURL(`${app.origin}/v1/files`);
    expect(await page.locator("body").textContent()).toContain("cors_origins");
    const lines = () => app.log.filter(({ message }) => message === "request");
    const changing = () => lines().filter(({ fields }) => fields.method === "POST");
    await waitFor("all that the page sends", () => changing().length >= 5);
    expect(changing().map(({ fields }) => fields.status)).toEqual([403, 403, 403, 403, 403]);
    expect(lines().find(({ fields }) => fields.path === "/health")?.fields.status).toBe(200);
    expect(await app.registry.fileUsage()).toMatchObject({ bytes: 0 });
  });
});
