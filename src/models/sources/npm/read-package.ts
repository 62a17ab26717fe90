/** Reads a package of the npm registry: its archive is unpacked as it comes, and checked as a whole. */
import { setTimeout as sleep } from "node:timers/promises";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError, reasonOf } from "../../../core/errors.ts";
import type { Progress } from "../../../core/progress.ts";
import {
  cannotBeFetched,
  IdleTimeout,
  RetryableError,
  readText,
  refuse,
  requestWithRetry,
  type Subject,
  sendRequest,
} from "../http-request.ts";
import type { Hub } from "../hub.ts";
import { checkRedirect } from "../redirects.ts";
import type { NpmReference } from "./download.ts";
import { type EntrySink, TarReader } from "./tar.ts";

export interface TakeOptions {
  /** The registry, with what it wants to see of its user. */
  registry: Hub;
  /** What was asked for, as a person wrote it. */
  source: string;
  progress: Progress;
  signal: AbortSignal;
  /** How long the registry may send nothing; default: a minute. */
  stallMs?: number;
  /** How long to wait before the first new try; default: half a second. */
  pauseMs?: number;
}

/** Which package, by an exact version. */
type PackageReference = Omit<NpmReference, "file">;

/** What becomes of an archive's files; begun again for every try. */
export interface Unpacking extends AsyncDisposable {
  sinkFor: EntrySink;
  /** Called when the archive has come whole; throws where it did not hold what was wanted. */
  finish(): Promise<void>;
}

const mostTries = 4;

/** Reads a package's archive once it is known to be right; what was unpacked of a wrong one is the caller's to remove. */
export async function readPackage(
  reference: PackageReference,
  subject: Subject,
  begin: () => Promise<Unpacking>,
  options: TakeOptions & { mostUnpacked: number },
): Promise<void> {
  const { signal, pauseMs = 500 } = options;
  const dist = await readDist(reference, subject, options);
  for (let tries = 1; ; tries++) {
    try {
      await attempt(dist, begin, subject, options);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RetryableError)) throw error;
      if (tries >= mostTries) throw failure(subject, error.message);
      await sleep(pauseMs * 2 ** tries, undefined, { signal });
    }
  }
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

/** What the registry says of one version. */
async function readDist(
  { package: name, version }: PackageReference,
  subject: Subject,
  { registry, signal, pauseMs }: TakeOptions,
): Promise<Dist> {
  const url = `${registry.endpoint}/${name.replace("/", "%2f")}/${version}`;
  const answer = await requestWithRetry({ url, headers: { accept: "application/json" } }, subject, {
    hub: registry,
    signal,
    ...(pauseMs === undefined ? {} : { pauseMs }),
  });
  const manifest = parsed(await readText(answer.response));
  if (!Value.Check(Manifest, manifest)) {
    throw failure(subject, `${new URL(url).host} does not say where ${name}@${version} is`);
  }
  const { integrity = "" } = manifest.dist;
  const tarball = URL.parse(manifest.dist.tarball, url)?.href;
  if (tarball === undefined) {
    throw failure(subject, `${new URL(url).host} names an archive that is no address`);
  }
  // As with a redirect: the registry leads no closer to this machine than it is itself.
  await checkRedirect({ began: url, from: url, to: tarball });
  for (const algorithm of ["sha512", "sha384", "sha256"] as const) {
    const digest = new RegExp(`(?:^|\\s)${algorithm}-([A-Za-z0-9+/]+=*)`).exec(integrity)?.[1];
    if (digest !== undefined) return { tarball, algorithm, digest };
  }
  throw failure(subject, `the registry has no digest of ${name}@${version} that can be relied on`);
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

async function attempt(
  { tarball, algorithm, digest }: Dist,
  begin: () => Promise<Unpacking>,
  subject: Subject,
  {
    registry,
    progress,
    signal,
    stallMs = 60_000,
    mostUnpacked,
  }: TakeOptions & { mostUnpacked: number },
): Promise<void> {
  using watch = new IdleTimeout(stallMs);
  const inTime = AbortSignal.any([signal, watch.signal]);
  try {
    const answer = await sendRequest({ url: tarball, hub: registry, signal: inTime });
    await refuse(answer, subject);
    const total = Number(answer.response.headers.get("content-length") ?? 0);
    const step = progress.step(`Downloading ${subject.source}`, total, "bytes");
    const hash = new Bun.CryptoHasher(algorithm);
    let received = 0;
    const onBytes = (chunk: Uint8Array): void => {
      watch.reset();
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
  } catch (error) {
    signal.throwIfAborted();
    if (!watch.signal.aborted) throw error;
    throw new RetryableError(`${new URL(tarball).host} sent nothing for ${stallMs / 1000} s`);
  }
}

/** The archive's bytes, out of gzip. */
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
    // What ended early may come whole the next time; what came whole and is no archive will not.
    const words = `the package cannot be unpacked (${reasonOf(cause)})`;
    throw isReceiving ? new RetryableError(words, { cause }) : failure(subject, words);
  }
}

const failure = (subject: Subject, reason: string): NodeError =>
  new NodeError("unavailable", `${cannotBeFetched(subject)} ${reason}.`);
