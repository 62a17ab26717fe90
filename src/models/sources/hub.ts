/** The model hub (Hugging Face or a mirror): its address and token, and references to its files. */
import { NodeError } from "../../core/errors.ts";

export interface Hub {
  /** Without a slash at its end. */
  endpoint: string;
  /** For gated repositories; sent to the hub only. */
  token?: string;
  /** A name and a password in base64, where it wants those instead of a token. */
  basic?: string;
}

/** The hub as the environment names it: HF_ENDPOINT for a mirror, HF_TOKEN for gated repositories. */
export function hubFrom({
  HF_ENDPOINT: endpoint,
  HF_TOKEN: token,
}: Readonly<Record<string, string | undefined>>): Hub {
  return {
    endpoint: (endpoint || "https://huggingface.co").replace(/\/+$/, ""),
    ...(token ? { token } : {}),
  };
}

export interface HubReference {
  /** `owner/repo`. */
  repository: string;
  revision: string;
  /** A file by its path, or a quantization, for which the hub chooses the file. */
  wanted: { file: string } | { quantization: string };
}

const name = "[A-Za-z0-9][\\w.-]*";
const byQuantization = new RegExp(`^hf:(${name}/${name})(?::([\\w.-]+))?$`);
const byFile = new RegExp(`^hf:(${name}/${name})/([^#?]+\\.gguf)(?:#(.+))?$`, "i");

export function parseReference(source: string): HubReference {
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

export function fileAddress(
  hub: Hub,
  { repository, revision }: HubReference,
  file: string,
): string {
  const path = file.split("/").map(encodeURIComponent).join("/");
  return `${hub.endpoint}/${repository}/resolve/${encodeURIComponent(revision)}/${path}`;
}

/** The hub's manifest, which says which file has a quantization. */
export function manifestAddress(hub: Hub, repository: string, quantization: string): string {
  return `${hub.endpoint}/v2/${repository}/manifests/${encodeURIComponent(quantization)}`;
}

export const isOfHub = (hub: Hub, url: string): boolean =>
  new URL(url).origin === new URL(hub.endpoint).origin;
