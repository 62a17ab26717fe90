/** Fetches a model, all files of it, from the hub or from an address into the models folder. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { partsOf } from "../../core/split-model.ts";
import { ask } from "./ask.ts";
import { checkDigest, checkOneFile } from "./digest.ts";
import { type FetchOptions, fetchFile } from "./fetch-file.ts";
import { checkRoom } from "./file-checks.ts";
import type { Hub } from "./hub.ts";
import { noteDigest } from "./known-digests.ts";
import { locate, patienceMs } from "./locate.ts";
import { findFetched, missingOf, noteOrigin } from "./origin.ts";
import type { Subject } from "./refusal.ts";

export interface DownloadOptions extends Omit<FetchOptions, "subject"> {
  /** Where models are kept. */
  folder: string;
  hub: Hub;
}

/** Whether a source is fetched from somewhere else. */
export const isRemote = (source: string): boolean => /^(https?:\/\/|hf:)/.test(source);

/** Returns the path of the model's first file; a model that was fetched before is not fetched again. */
export async function download(source: string, options: DownloadOptions): Promise<string> {
  const { folder, hub, sha256, signal } = options;
  const known = await findFetched(source, folder);
  if (known !== undefined) {
    if (sha256 !== undefined) {
      checkOneFile(partsOf(known), source);
      await checkDigest(known, sha256, options);
    }
    return known;
  }
  const { place, subject } = await locate(source, hub, signal);
  const files = partsOf(place.file);
  const [first = place.file] = files;
  if (sha256 !== undefined) checkOneFile(files, source);
  const urls = partAddresses(place.url);
  const missing = await missingOf(files, folder);
  if (missing.length > 1) {
    const wanted = urls.filter((_, at) => missing.includes(files[at] ?? ""));
    await checkRoomForAll(wanted, folder, subject, signal);
  }
  for (const [at, file] of files.entries()) {
    const path = join(folder, file);
    if (missing.includes(file)) {
      const fetched = await fetchFile(urls[at] ?? place.url, path, { ...options, subject });
      if (fetched !== undefined) await noteDigest(path, fetched.sha256, folder);
    } else if (sha256 !== undefined) await checkDigest(path, sha256, options);
  }
  await noteOrigin(join(folder, first), source);
  return join(folder, first);
}

/** Whatever follows the path, a key perhaps, is the same for all parts. */
function partAddresses(address: string): string[] {
  return partsOf(new URL(address).pathname).map((path) => {
    const url = new URL(address);
    url.pathname = path;
    return url.href;
  });
}

/** What is known beforehand of the sizes; a server that tells none is asked file by file. */
async function checkRoomForAll(
  urls: readonly string[],
  folder: string,
  { source, hub }: Subject,
  signal: AbortSignal,
): Promise<void> {
  const sizes = await Promise.all(
    urls.map(async (url) => {
      const answer = await ask({ url, method: "HEAD", hub, signal, timeoutMs: patienceMs }).catch(
        () => undefined,
      );
      signal.throwIfAborted();
      return answer?.size ?? Number(answer?.response.headers.get("content-length") ?? 0);
    }),
  );
  await mkdir(folder, { recursive: true });
  await checkRoom(
    folder,
    sizes.reduce((sum, size) => sum + size, 0),
    source,
  );
}
