/** The model hub (Hugging Face or a mirror): parses references, and locates a model's file. */
import { basename, dirname } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { partsOf } from "../../core/models/model-files.ts";
import { type Pin, withoutKey } from "../models-folder.ts";
import {
  type RetryOptions,
  readJson,
  requestWithRetry,
  type SourceResponse,
  type Subject,
} from "./http-request.ts";

export interface Hub {
  /** Without a trailing slash. */
  endpoint: string;
  /** For gated repositories; sent to the hub only. */
  token?: string;
  /** Basic authentication (`name:password` in base64), instead of a token. */
  basic?: string;
}

/** From the environment: HF_ENDPOINT for a mirror, HF_TOKEN for gated repositories. */
export const hubFrom = (env: Readonly<Record<string, string | undefined>>): Hub => ({
  endpoint: (env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, ""),
  ...(env.HF_TOKEN ? { token: env.HF_TOKEN } : {}),
});

interface HubReference {
  repository: string;
  revision: string;
  /** A file by its path, or a quantization, for which the hub chooses the file. */
  wanted: { file: string } | { quantization: string };
}

const name = "[A-Za-z0-9][\\w.-]*";
const byQuantization = new RegExp(`^hf:(${name}/${name})(?::([\\w.-]+))?$`);
const byFile = new RegExp(`^hf:(${name}/${name})/([^#?]+\\.gguf)(?:#(.+))?$`, "i");

function parseReference(source: string): HubReference {
  const [, repository, quantization = "latest"] = byQuantization.exec(source) ?? [];
  if (repository !== undefined) return { repository, revision: "main", wanted: { quantization } };
  const [, holder, file, revision = "main"] = byFile.exec(source) ?? [];
  if (holder === undefined || file === undefined || file.split("/").includes("..")) {
    throw new NodeError(
      "invalid_request",
      `'${source}' is no reference to the hub. Write hf:owner/repo:quant or hf:owner/repo/file.gguf.`,
    );
  }
  return { repository: holder, revision, wanted: { file } };
}

function fileAddress(hub: Hub, { repository, revision }: HubReference, file: string): string {
  const path = file.split("/").map(encodeURIComponent).join("/");
  return `${hub.endpoint}/${repository}/resolve/${encodeURIComponent(revision)}/${path}`;
}

export const isOfHub = (hub: Hub, url: string): boolean =>
  new URL(url).origin === new URL(hub.endpoint).origin;

export interface Place {
  url: string;
  file: string;
  pin: Pin;
}

/** `pin`: the file and commit of an earlier download, which are used again. */
export async function locate(
  source: string,
  retry: RetryOptions,
  pin: Pin = {},
): Promise<{ place: Place; subject: Subject }> {
  const { hub } = retry;
  if (!source.startsWith("hf:")) {
    return { place: placeOfAddress(source), subject: { source: withoutKey(source), hub } };
  }
  const reference = parseReference(source);
  const { repository, revision, wanted } = reference;
  const about: Subject = { source, hub, repository };
  const file =
    pin.file ??
    ("file" in wanted
      ? wanted.file
      : await chosenFile(repository, wanted.quantization, about, retry));
  const subject = { ...about, wanted: `file '${file}' at ${revision}` };
  const commit =
    pin.commit ?? (await lookAt(fileAddress(hub, reference, file), subject, retry)).commit;
  const pinned = commit === undefined ? reference : { ...reference, revision: commit };
  return {
    place: {
      url: fileAddress(hub, pinned, file),
      file: nameOfHubFile(reference, file),
      pin: { file, ...given({ commit }) },
    },
    subject,
  };
}

/** Asks the hub, by HEAD, for the commit of the file's branch and for its digest. */
export async function lookAt(
  url: string,
  subject: Subject,
  retry: RetryOptions,
): Promise<Pick<SourceResponse, "commit" | "digest">> {
  return await requestWithRetry({ url, method: "HEAD", staysAtHub: true }, subject, retry);
}

/** Adds a digest if replacing characters by `_` could make names equal: `a/b_c` and `a_b/c`. */
function nameOfHubFile({ repository, revision }: HubReference, file: string): string {
  const isMain = revision === "main";
  const isPlain = isMain && !repository.includes("_") && safe(file) === file;
  const mark = isPlain ? "" : `${shortDigest(`${repository}#${revision}#${stemOf(file)}`)}_`;
  return safe(`hf_${repository}_${mark}${isMain ? "" : `${revision}_`}${file}`);
}

/** The name includes a digest of the URL, so that files of the same name do not collide. */
function placeOfAddress(source: string): Place {
  const url = URL.parse(source);
  const name = basename(url?.pathname ?? "");
  if (url === null || !/\.gguf$/i.test(name)) {
    throw new NodeError(
      "invalid_request",
      `'${withoutKey(source)}' is no address of a GGUF file: its path must end in .gguf.`,
    );
  }
  const where = `${url.origin}${dirname(url.pathname)}`;
  const mark = shortDigest(safe(name) === name ? where : `${where}#${stemOf(name)}`);
  return { url: source, file: safe(`web_${url.hostname}_${mark}_${name}`), pin: {} };
}

/** The query, which may hold a key, is the same for all parts. */
export function partAddresses(address: string): string[] {
  return partsOf(new URL(address).pathname).map((path) => {
    const url = new URL(address);
    url.pathname = path;
    return url.href;
  });
}

const safe = (name: string): string => name.replaceAll(/[^\w.-]+/g, "_");

/** The name without its part number, the same for all parts of a model. */
const stemOf = (file: string): string => file.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, "");

const shortDigest = (text: string): string =>
  new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 8);

const Manifest = T.Object({
  ggufFile: T.Object({ rfilename: T.String({ pattern: "^[^\\x00-\\x1f]+\\.[gG][gG][uU][fF]$" }) }),
});

async function chosenFile(
  repository: string,
  quantization: string,
  subject: Subject,
  retry: RetryOptions,
): Promise<string> {
  const answer = await requestWithRetry(
    {
      url: `${retry.hub.endpoint}/v2/${repository}/manifests/${encodeURIComponent(quantization)}`,
      // The hub adds the file's name to the manifest for this client only.
      headers: { "user-agent": "llama-cpp" },
    },
    { ...subject, wanted: `GGUF file of the form '${quantization}'` },
    retry,
  );
  const manifest = await readJson(answer.response);
  if (Value.Check(Manifest, manifest)) return manifest.ggufFile.rfilename;
  throw new NodeError(
    "unavailable",
    `The hub does not say which file of ${repository} has the form '${quantization}'. Name the file: hf:${repository}/FILE.gguf.`,
  );
}
