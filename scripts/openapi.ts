/** Writes openapi/openapi.json from the routes. */
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };
import { loadConfig } from "../src/config/load.ts";
import { PaddockNode } from "../src/node/paddock-node.ts";
import { createApp } from "../src/server/app.ts";

export const documentFile = join(import.meta.dir, "..", "openapi", "openapi.json");

/** The app of a node that has prepared nothing: the routes are the same on every node. */
export async function describedApp() {
  const ignore = (): void => {};
  const node = await PaddockNode.create({
    config: loadConfig({ env: {}, flags: {} }),
    baseDir: ".",
    program: { command: [], env: {} },
    version,
    handbook: async () => [],
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    progress: { step: () => ({ update: ignore, finish: ignore }) },
    residentMemory: () => 0,
  });
  return createApp(node.services);
}

export async function openapiDocument(): Promise<string> {
  const response = await (await describedApp()).handle(
    new Request("http://localhost/openapi.json"),
  );
  return `${JSON.stringify(await response.json(), null, 2)}\n`;
}

if (import.meta.main) {
  await Bun.write(documentFile, await openapiDocument());
  console.log(`Wrote ${documentFile}`);
}
