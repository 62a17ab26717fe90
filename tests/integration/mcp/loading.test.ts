import { expect, test } from "bun:test";
import { join } from "node:path";

const source = join(import.meta.dir, "..", "..", "..", "src");

/** The packages that are loaded with a module, in a process of its own. */
async function packagesOf(module: string): Promise<Set<string>> {
  const script = `await import(${JSON.stringify(join(source, module))});
    console.log(JSON.stringify(Object.keys(require.cache)));
    process.exit(0);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  const paths: string[] = JSON.parse(await new Response(child.stdout).text());
  const names = paths.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  return new Set(names.filter((name) => name !== undefined));
}

const sdk = "@modelcontextprotocol/sdk";

test("a node and a command line load nothing of MCP until somebody asks", async () => {
  for (const module of ["node/paddock-node.ts", "cli/program.ts"]) {
    const packages = await packagesOf(module);
    expect([packages.has("@sinclair/typebox"), packages.has(sdk)]).toEqual([true, false]);
  }
});

test("MCP brings no second HTTP server", async () => {
  for (const module of ["mcp/http.ts", "mcp/stdio.ts", "mcp/relay.ts"]) {
    const packages = await packagesOf(module);
    expect(packages.has(sdk)).toBe(true);
    for (const name of ["express", "hono", "@hono/node-server", "jose", "cors"]) {
      expect([name, packages.has(name)]).toEqual([name, false]);
    }
  }
});
