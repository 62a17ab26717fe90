/** Moves a model of the hub from the commit that it is pinned to, to the one that its branch is at now. */
import { rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { reasonOf } from "../../core/errors.ts";
import { partsOf } from "../../core/models/split-model.ts";
import { sizeOf } from "../file-size.ts";
import { checkDigest, checkOneFile, digestOf } from "./digest.ts";
import type { DownloadOptions } from "./download.ts";
import { fetchFile } from "./fetch-file.ts";
import { noteDigest } from "./known-digests.ts";
import { locate, lookAt, type Place, partAddresses } from "./locate.ts";
import { forgetSource, noteOrigin, type Origin } from "./origin.ts";
import type { Subject } from "./refusal.ts";

/** Before the name of a file that is to take another's place, once all of a model are there. */
const coming = "next_";

/** The path of the model's first file; nothing where the source means another file now, which is to be fetched. */
export async function renew(
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
    if (sha256 !== undefined) await checkDigest(path, sha256, options);
    return path;
  }
  if (pin.file !== undefined && pin.file !== now.file) {
    say(`'${source}' is another file now: ${now.file}, before ${pin.file}, which stays.`);
    await forgetSource(path, source);
    return undefined;
  }
  const changed = await changedParts(files, found, options);
  for (const { next, url } of changed) {
    const fetched = await fetchFile(url, next, { ...options, subject: found.subject });
    if (fetched !== undefined) await noteDigest(next, fetched.sha256, options.folder);
  }
  for (const { next, file } of changed) await rename(next, file);
  await noteOrigin(path, source, now);
  const same = changed.length === 0 ? "; its weights are the same" : "";
  const before = pin.commit === undefined ? "" : ` from the commit ${pin.commit}`;
  say(`'${source}' moved${before} to the commit ${now.commit}${same}.`);
  return path;
}

interface ChangedPart {
  file: string;
  next: string;
  url: string;
}

async function changedParts(
  files: readonly string[],
  { place, subject }: { place: Place; subject: Subject },
  options: DownloadOptions,
): Promise<ChangedPart[]> {
  const changed: ChangedPart[] = [];
  for (const [at, url] of partAddresses(place.url).entries()) {
    const file = files[at];
    if (file === undefined) continue;
    const { digest } = await lookAt(url, subject, options);
    if (digest !== undefined && digest === (await digestOf(file, options))) continue;
    const next = join(options.folder, `${coming}${basename(file)}`);
    // What an earlier try brought may be of another commit.
    const isThere = (await sizeOf(next)) !== undefined;
    if (isThere && (digest === undefined || digest !== (await digestOf(next, options)))) {
      await rm(next);
    }
    changed.push({ file, next, url });
  }
  return changed;
}
