import { expect, test } from "bun:test";
import { configuredNode } from "../support/configured-node.ts";
import { tinyChatConfig } from "../support/tiny-node.ts";

test("the program names its page when it starts, and serves it with every file of it", async () => {
  await using node = await configuredNode(await tinyChatConfig());
  await node.printed(`Page: ${node.origin}/\n`);
  const page = await fetch(`${node.origin}/`);
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
