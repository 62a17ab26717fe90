/** A node with the starter chat model as its configuration names it, on weights that the benchmarks keep. */
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { servePaddock } from "../../tests/support/paddock-process.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import type { ChatServer } from "../measuring/client.ts";
import { cacheFolder } from "../servers/cache-folder.ts";
import { killAtExit } from "../servers/kill-at-exit.ts";

export async function startStarterNode({
  threads = "0",
} = {}): Promise<ChatServer & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempDir());
  await mkdir(cacheFolder, { recursive: true });
  await mkdir(join(folder.path, "data"));
  await symlink(cacheFolder, join(folder.path, "data", "models"));
  const config = `data_dir = "data"\n[[models]]\nname = "chat"\ntype = "chat"\nsource = "starter:chat"\n`;
  await Bun.write(join(folder.path, "paddock.toml"), config);
  const node = stack.use(
    await servePaddock({
      cwd: folder.path,
      env: { PADDOCK_THREADS: threads },
    }),
  );
  killAtExit(node.process);
  const owned = stack.move();
  return {
    baseUrl: `${node.origin}/v1`,
    model: "chat",
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
