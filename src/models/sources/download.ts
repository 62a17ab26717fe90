/** Fetches a model, all files of it, from the hub or from an address into the models folder. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../core/errors.ts";
import { partsOf } from "../../core/split-model.ts";
import { sizeOf } from "../file-size.ts";
import { ask, Interruption } from "./ask.ts";
import { checkDigest } from "./digest.ts";
import { type FetchOptions, fetchFile } from "./fetch-file.ts";
import { checkRoom } from "./file-checks.ts";
import { fileAddress, type Hub, manifestAddress, parseReference } from "./hub.ts";
import { refuse, type Subject } from "./refusal.ts";

export interface DownloadOptions extends Omit<FetchOptions, "subject"> {
  /** Where models are kept. */
  folder: string;
  hub: Hub;
}

/** Where a model's first file is, and what it is called here. */
interface Place {
  url: string;
  file: string;
}

const originSuffix = ".origin.json";
const Origin = T.Object({ source: T.String() });

/** Whether a source is fetched from somewhere else. */
export const isRemote = (source: string): boolean => /^(https?:\/\/|hf:)/.test(source);

/** Returns the path of the model's first file; a model that was fetched before is not fetched again. */
export async function download(source: string, options: DownloadOptions): Promise<string> {
  const { folder, hub, sha256, signal } = options;
  const known = await findFetched(source, folder);
  if (known !== undefined) {
    if (sha256 !== undefined) await checkDigest(known, sha256);
    return known;
  }
  const { place, subject } = await locate(source, hub, signal);
  const files = partsOf(place.file);
  const [first = place.file] = files;
  if (sha256 !== undefined && files.length > 1) {
    throw new NodeError(
      "invalid_request",
      `A digest is of one file, and '${source}' has ${files.length}: leave --sha256 out.`,
    );
  }
  const urls = partAddresses(place.url);
  const missing = await missingOf(files, folder);
  if (missing.length > 1) {
    const wanted = urls.filter((_, at) => missing.includes(files[at] ?? ""));
    await checkRoomForAll(wanted, folder, subject, signal);
  }
  for (const [at, file] of files.entries()) {
    const path = join(folder, file);
    if (missing.includes(file)) {
      await fetchFile(urls[at] ?? place.url, path, { ...options, subject });
    } else if (sha256 !== undefined) await checkDigest(path, sha256);
  }
  await writeFile(join(folder, `${first}${originSuffix}`), JSON.stringify({ source }));
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

/** Everything that belongs to a model's file in the folder, the rests of downloads included. */
export const filesBeside = (file: string): string[] => [
  `${file}${originSuffix}`,
  `${file}.part`,
  `${file}.part.json`,
  `${file}.lock`,
];

/** The model that a source brought, where it did: the hub need not be asked again. */
export async function findFetched(source: string, folder: string): Promise<string | undefined> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith(originSuffix) || (await originOf(join(folder, name))) !== source) continue;
    const file = basename(name, originSuffix);
    if ((await missingOf(partsOf(file), folder)).length === 0) return join(folder, file);
  }
  return undefined;
}

async function originOf(path: string): Promise<string | undefined> {
  try {
    const origin: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(Origin, origin) ? origin.source : undefined;
  } catch {
    return undefined; // removed meanwhile, or half written
  }
}

async function missingOf(files: readonly string[], folder: string): Promise<string[]> {
  const sizes = await Promise.all(files.map((file) => sizeOf(join(folder, file))));
  return files.filter((_, at) => sizes[at] === undefined);
}

async function locate(
  source: string,
  hub: Hub,
  signal: AbortSignal,
): Promise<{ place: Place; subject: Subject }> {
  if (!source.startsWith("hf:")) return { place: placeOfAddress(source), subject: { source, hub } };
  const reference = parseReference(source);
  const { repository, revision, wanted } = reference;
  const subject: Subject = { source, hub, repository };
  const file =
    "file" in wanted
      ? wanted.file
      : await chosenFile(repository, wanted.quantization, subject, signal);
  const branch = revision === "main" ? "" : `${revision}_`;
  return {
    place: {
      url: fileAddress(hub, reference, file),
      file: safe(`hf_${repository}_${branch}${file}`),
    },
    subject: { ...subject, wanted: `file '${file}' at ${revision}` },
  };
}

/** The name holds where it comes from, but not the query: that may carry a key which changes. */
function placeOfAddress(source: string): Place {
  const url = URL.parse(source);
  const name = basename(url?.pathname ?? "");
  if (url === null || !/\.gguf$/i.test(name)) {
    throw new NodeError(
      "invalid_request",
      `'${source}' is no address of a GGUF file: its path must end in .gguf.`,
    );
  }
  const where = `${url.origin}${dirname(url.pathname)}`;
  const short = new Bun.CryptoHasher("sha256").update(where).digest("hex").slice(0, 8);
  return { url: source, file: safe(`web_${url.hostname}_${short}_${decodeURIComponent(name)}`) };
}

const safe = (name: string): string => name.replaceAll(/[^\w.-]+/g, "_");

const Manifest = T.Object({ ggufFile: T.Object({ rfilename: T.String({ minLength: 1 }) }) });

/** The file that the hub has for a form of the weights. */
async function chosenFile(
  repository: string,
  quantization: string,
  subject: Subject,
  signal: AbortSignal,
): Promise<string> {
  const { hub, source } = subject;
  try {
    const answer = await ask({
      url: manifestAddress(hub, repository, quantization),
      // The hub names the file to this client only.
      headers: { "user-agent": "llama-cpp" },
      hub,
      signal,
    });
    await refuse(answer, { ...subject, wanted: `GGUF file of the form '${quantization}'` });
    const manifest: unknown = await answer.response.json().catch(() => undefined);
    if (Value.Check(Manifest, manifest)) return manifest.ggufFile.rfilename;
  } catch (error) {
    if (!(error instanceof Interruption)) throw error;
    throw new NodeError(
      "unavailable",
      `The model '${source}' cannot be fetched: ${error.message}. Check the network (HTTPS_PROXY names a proxy), or name a file that is on this machine.`,
      { cause: error },
    );
  }
  throw new NodeError(
    "unavailable",
    `The hub does not say which file of ${repository} has the form '${quantization}'. Name the file: hf:${repository}/FILE.gguf.`,
  );
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
      const answer = await ask({ url, method: "HEAD", hub, signal }).catch(() => undefined);
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
