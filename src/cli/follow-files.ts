/** Runs work once, and again whenever files of paths change. */
import { stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import { reasonOf } from "../core/errors.ts";
import { globBase, isLeftAlone, isUnder, namedRoots } from "../ingest/find-files.ts";
import type { Shell } from "./shell.ts";

/** A file or folder to watch, and which one it is: another may take its place, which no event says if a folder above moved. */
type Roots = ReadonlyMap<string, string>;

/** How often to look whether other folders have taken the places of the watched ones. */
const lookMs = 1000;

/** Goes on until the process is asked to stop. */
export async function followFiles(
  { cwd, say, stopped }: Pick<Shell, "cwd" | "say" | "stopped">,
  paths: readonly string[],
  run: () => Promise<unknown>,
): Promise<void> {
  let change = Promise.withResolvers<void>();
  const wake = (): void => change.resolve();
  let roots = await rootsOf(paths, cwd);
  const begin = (): Promise<FSWatcher> =>
    watching([...roots.keys()], wake, (error) =>
      say(`A change may be missed: ${reasonOf(error)}\n`),
    );
  // The first run starts once the watcher is ready, so that no change is missed.
  let watcher = await begin();
  const look = async (): Promise<void> => {
    if (!Bun.deepEquals(await rootsOf(paths, cwd), roots)) wake();
  };
  const timer = setInterval(() => void look(), lookMs);
  stopped.addEventListener("abort", wake, { once: true });
  wake();
  try {
    for (;;) {
      await change.promise;
      if (stopped.aborted) return;
      change = Promise.withResolvers();
      const now = await rootsOf(paths, cwd);
      if (!Bun.deepEquals(now, roots)) {
        roots = now;
        await watcher.close();
        watcher = await begin();
      }
      await run().catch((error: unknown) => {
        if (!stopped.aborted) say(`${reasonOf(error)}\n`);
      });
      say("Watching for changes; Ctrl-C ends it.\n");
    }
  } finally {
    clearInterval(timer);
    await watcher.close();
  }
}

async function watching(
  roots: readonly string[],
  onChange: () => void,
  onError: (error: unknown) => void,
): Promise<FSWatcher> {
  const watcher = watch([...roots], {
    ignoreInitial: true,
    // Otherwise a link could lead to watching the whole disk.
    followSymlinks: false,
    ignored: (path) => isIgnored(path, roots),
    awaitWriteFinish: { stabilityThreshold: 200, pollInterval: 50 },
  });
  watcher.on("error", onError);
  watcher.on("all", onChange);
  await new Promise<void>((resolve) => watcher.once("ready", resolve));
  return watcher;
}

/** Below every root that it is in; the roots were named explicitly, so their own names are not checked. */
const isIgnored = (path: string, roots: readonly string[]): boolean =>
  roots.filter((root) => isUnder([root], path)).every((root) => isLeftAlone(relative(root, path)));

/** A glob is watched at its base folder, and a named link at both its ends. */
async function rootsOf(paths: readonly string[], cwd: string): Promise<Roots> {
  const named = paths.map((path) => resolve(cwd, globBase(path)));
  const roots = new Set([...named, ...(await namedRoots(paths, cwd))]);
  return new Map(
    await Promise.all([...roots].map(async (root) => [root, await identityOf(root)] as const)),
  );
}

const identityOf = (path: string): Promise<string> =>
  stat(path, { bigint: true }).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => "none",
  );
