import { expect, test } from "bun:test";
import { configuredNode } from "../support/configured-node.ts";
import { tinyChatConfig } from "../support/tiny-node.ts";

test("the program names its page when it starts, and serves it with every file of it", async () => {
  await using node = await configuredNode(await tinyChatConfig());
  await node.printed(`Page: ${node.origin}/\n`);
  const page = await fetch(`${node.origin}/`, { headers: { accept: "text/html" } });
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  const links = [...(await page.text()).matchAll(/(?:href|src)="([^"]*)"/g)].map(
    ([, link]) => link ?? "",
  );
  const files = await Promise.all(links.map((link) => fetch(`${node.origin}${link}`)));
  expect(files.map(({ status, headers }) => [status, headers.get("content-type")]).sort()).toEqual([
    [200, "image/svg+xml"],
    [200, "text/css; charset=utf-8"],
    [200, "text/javascript; charset=utf-8"],
  ]);
});

test("the program looks like Ollama to its clients, on loopback and unless it is told not to", async () => {
  const said = async (settings: string): Promise<string> => {
    await using node = await configuredNode(`${await tinyChatConfig()}${settings}`);
    return await (await fetch(node.origin)).text();
  };
  expect(await said("")).toBe("Ollama is running");
  expect(await said("[http]\nollama = false\n")).toStartWith("<!doctype html>");
});
