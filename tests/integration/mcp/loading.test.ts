import { expect, test } from "bun:test";
import { join } from "node:path";

const source = join(import.meta.dir, "..", "..", "..", "src");

/** The packages that are loaded with modules, in a process of their own. */
async function packagesOf(...modules: string[]): Promise<Set<string>> {
  const paths = modules.map((module) => join(source, module));
  const script = `for (const path of ${JSON.stringify(paths)}) await import(path);
    console.log(JSON.stringify(Object.keys(require.cache)));
    process.exit(0);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  const loaded: string[] = JSON.parse(await new Response(child.stdout).text());
  const names = loaded.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  return new Set(names.filter((name) => name !== undefined));
}

const sdk = "@modelcontextprotocol/sdk";

test("a node and a command line load nothing of MCP until somebody asks", async () => {
  const packages = await packagesOf("node/paddock-node.ts", "cli/program.ts");
  expect([packages.has("@sinclair/typebox"), packages.has(sdk)]).toEqual([true, false]);
});

test("MCP brings no second HTTP server", async () => {
  const packages = await packagesOf("mcp/server.ts", "mcp/stdio.ts");
  expect(packages.has(sdk)).toBe(true);
  for (const name of ["express", "hono", "@hono/node-server", "jose", "cors"]) {
    expect([name, packages.has(name)]).toEqual([name, false]);
  }
});
