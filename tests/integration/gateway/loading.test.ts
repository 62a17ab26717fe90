import { expect, test } from "bun:test";
import { join } from "node:path";
import { tempDir } from "../../support/temp-dir.ts";

const root = join(import.meta.dir, "..", "..", "..");

/** Which folders of the gateway are loaded by nodes of these configurations, one after the other in a process of its own. */
async function loadedBy(...tomls: string[]): Promise<string[][]> {
  await using folder = await tempDir();
  const script = `
    const { bareNodeOptions } = await import("./tests/support/bare-node.ts");
    const { PaddockNode } = await import("./src/node/paddock-node.ts");
    const { NodeModels } = await import("./src/node/models/node-models.ts");
    await import("./src/cli/program.ts");
    await import("./src/cli/serve/serve-node.ts");
    const env = { PADDOCK_DATA_DIR: ${JSON.stringify(folder.path)} };
    const loaded = [];
    for (const toml of ${JSON.stringify(tomls)}) {
      const options = bareNodeOptions({ env, toml });
      await using node = await PaddockNode.create(options);
      await node.open();
      await NodeModels.openInProcess(options);
      loaded.push(Object.keys(require.cache));
    }
    console.log(JSON.stringify(loaded));
    process.exit(0);`;
  const child = Bun.spawn([process.execPath, "-e", script], {
    cwd: root,
    stdout: "pipe",
    stderr: "inherit",
  });
  const loaded: string[][] = JSON.parse(await new Response(child.stdout).text());
  return loaded.map((paths) => {
    expect(paths.some((path) => path.endsWith("src/core/models/model-registry.ts"))).toBe(true);
    const folders = paths.map((path) => /src\/(?:node\/)?gateway\/(?:\w+\/)?/.exec(path)?.[0]);
    return [...new Set(folders.filter((name) => name !== undefined))].sort();
  });
}

const upstream =
  '[[models]]\nname = "far"\ntype = "chat"\nsource = "openai:http://127.0.0.1:1/v1"\n';
const shared = '[shared]\nredis = "redis://127.0.0.1:1"\n';

test("a node without upstreams or [shared] loads nothing of the gateway, and one with upstreams what they need", async () => {
  expect(await loadedBy("", upstream)).toEqual([
    [],
    ["src/gateway/replicas/", "src/gateway/upstream/", "src/node/gateway/"],
  ]);
});

test("a node with [shared] loads what Redis needs, and nothing of upstreams", async () => {
  expect(await loadedBy(shared)).toEqual([["src/gateway/redis/", "src/node/gateway/"]]);
});
