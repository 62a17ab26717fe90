/** Where a model's first file is on the network, and what it is called here. */
import { basename, dirname } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../core/errors.ts";
import { ask, Interruption } from "./ask.ts";
import { fileAddress, type Hub, manifestAddress, parseReference } from "./hub.ts";
import { withoutKey } from "./origin.ts";
import { refuse, type Subject } from "./refusal.ts";

interface Place {
  url: string;
  file: string;
}

/** How long a question without a file behind it may take. */
export const patienceMs = 30_000;

export async function locate(
  source: string,
  hub: Hub,
  signal: AbortSignal,
): Promise<{ place: Place; subject: Subject }> {
  if (!source.startsWith("hf:"))
    return { place: placeOfAddress(source), subject: { source: withoutKey(source), hub } };
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

/** The name holds where it comes from, so that two files of one name do not meet. */
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
  return { url: source, file: safe(`web_${url.hostname}_${short}_${name}`) };
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
      timeoutMs: patienceMs,
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
