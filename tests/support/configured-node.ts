/** A node as a process, in a folder of its own that holds its configuration. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ServingPaddock, servePaddock } from "./paddock-process.ts";
import { tempDir } from "./temp-dir.ts";

export interface ConfiguredNode extends ServingPaddock {
  /** The folder. */
  cwd: string;
}

interface ConfiguredNodeOptions {
  args?: readonly string[];
  env?: Record<string, string>;
}

/** `config` is the text of the file. */
export async function configuredNode(
  config: string,
  { args = [], env = {} }: ConfiguredNodeOptions = {},
): Promise<ConfiguredNode> {
  await using resources = new AsyncDisposableStack();
  const { path: cwd } = resources.use(await tempDir());
  await writeFile(join(cwd, "paddock.toml"), config);
  const node = resources.use(await servePaddock({ cwd, env }, args));
  const owned = resources.move();
  return { ...node, cwd, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
