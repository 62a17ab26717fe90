/** Fetches a package from the registry and unpacks it: checked against the registry's digest, whole or not at all. */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Progress, ProgressStep } from "../core/progress.ts";
import type { Registry } from "./npm-registry.ts";
import { untar } from "./untar.ts";

export interface FetchPackageOptions {
  registry: Registry;
  /** The folder that the package becomes; one that is there is replaced. */
  folder: string;
  progress: Progress;
  signal: AbortSignal;
}

/** More than any package of libraries has. */
const mostBytes = 4e9;
const mostDescription = 64e6;
/** A server that sends nothing for so long has gone away. */
const stallMs = 60_000;

export async function fetchPackage(
  name: string,
  version: string,
  { registry, folder, progress, signal }: FetchPackageOptions,
): Promise<string> {
  const id = `${name}@${version}`;
  const aside = `${folder}.${crypto.randomUUID()}.part`;
  const tarball = `${aside}.tgz`;
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    const { address, integrity } = await describe(name, version, registry, signal);
    const label = `Fetching ${id}`;
    await download(address, integrity, { registry, path: tarball, signal, progress, label });
    await mkdir(aside, { mode: 0o700 });
    const content = Bun.file(tarball).stream().pipeThrough(new DecompressionStream("gzip"));
    await untar(content, aside, mostBytes);
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
    return folder;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NodeError) throw error;
    throw new NodeError("unavailable", `${id} cannot be fetched: ${reasonOf(error)}.`, {
      cause: error,
    });
  } finally {
    await rm(tarball, { force: true });
    await rm(aside, { recursive: true, force: true });
  }
}

async function describe(
  name: string,
  version: string,
  registry: Registry,
  signal: AbortSignal,
): Promise<{ address: string; integrity: string }> {
  const url = new URL(name.replace("/", "%2f"), registry.url).href;
  const response = await ask(url, registry, signal, "application/vnd.npm.install-v1+json");
  const text = await response.text();
  if (text.length > mostDescription) throw new Error("the registry's answer is too long");
  const { versions }: { versions?: Record<string, { dist?: Dist }> } = JSON.parse(text);
  const dist = versions?.[version]?.dist;
  if (dist === undefined) throw new Error(`the registry ${hostOf(url)} has no such version`);
  const { tarball, integrity } = dist;
  if (typeof tarball !== "string" || typeof integrity !== "string") {
    throw new Error("the registry names no digest for it, so it cannot be checked");
  }
  return { address: tarball, integrity };
}

interface Dist {
  tarball?: unknown;
  integrity?: unknown;
}

interface DownloadOptions {
  registry: Registry;
  path: string;
  signal: AbortSignal;
  progress: Progress;
  label: string;
}

async function download(
  address: string,
  integrity: string,
  { registry, path, signal, progress, label }: DownloadOptions,
): Promise<void> {
  const expected = /sha512-([A-Za-z0-9+/=]+)/.exec(integrity)?.[1];
  if (expected === undefined) throw new Error(`its digest is of no known kind: ${integrity}`);
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Error("nothing comes any more")), stallMs);
  const file = await open(path, "wx", 0o600);
  let step: ProgressStep | undefined;
  try {
    const response = await ask(address, registry, AbortSignal.any([signal, stalled.signal]));
    const total = Number(response.headers.get("content-length") ?? 0);
    step = progress.step(label, total, "bytes");
    const hash = new Bun.CryptoHasher("sha512");
    let done = 0;
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      done += chunk.length;
      if (done > mostBytes) throw new Error("it is larger than a package should be");
      hash.update(chunk);
      await file.write(chunk);
      step.update(done);
    }
    if (hash.digest("base64") !== expected) {
      throw new Error("what came is not what the registry says it is (sha512)");
    }
    step.finish();
  } catch (error) {
    step?.finish("failed");
    throw error;
  } finally {
    clearTimeout(timer);
    await file.close();
  }
}

async function ask(
  url: string,
  registry: Registry,
  signal: AbortSignal,
  accept = "*/*",
): Promise<Response> {
  const response = await fetch(url, { headers: { accept, ...registry.headersFor(url) }, signal });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new Error(`${hostOf(url)} answers ${response.status}`);
}

const hostOf = (url: string): string => new URL(url).host;
