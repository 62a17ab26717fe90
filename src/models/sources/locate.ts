/** Where a model's first file is on the network, and what it is called here. */
import { basename, dirname } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { partsOf } from "../../core/models/split-model.ts";
import type { Answer } from "./ask.ts";
import { askPatiently, type Patience, readText } from "./ask-patiently.ts";
import { fileAddress, type HubReference, manifestAddress, parseReference } from "./hub.ts";
import { type Pin, withoutKey } from "./origin.ts";
import type { Subject } from "./refusal.ts";

export interface Place {
  url: string;
  /** What it is called here. */
  file: string;
  /** Of the hub: where it is there, and of which commit. */
  pin: Pin;
}

interface Located {
  place: Place;
  subject: Subject;
}

/** `pin`: what an earlier start found, and what stays as it is. */
export async function locate(source: string, patience: Patience, pin: Pin = {}): Promise<Located> {
  const { hub } = patience;
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
      : await chosenFile(repository, wanted.quantization, about, patience));
  const subject = { ...about, wanted: `file '${file}' at ${revision}` };
  const commit =
    pin.commit ?? (await lookAt(fileAddress(hub, reference, file), subject, patience)).commit;
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

/** What the hub says of a file without sending it: the commit that its branch is at, and its digest. */
export async function lookAt(
  url: string,
  subject: Subject,
  patience: Patience,
): Promise<Pick<Answer, "commit" | "digest">> {
  return await askPatiently({ url, method: "HEAD", staysAtHub: true }, subject, patience);
}

/** What a `_` could not keep apart, as `a/b_c` and `a_b/c`, gets a digest of what it stands for. */
function nameOfHubFile({ repository, revision }: HubReference, file: string): string {
  const isMain = revision === "main";
  const isPlain = isMain && !repository.includes("_") && safe(file) === file;
  const mark = isPlain ? "" : `${shortDigest(`${repository}#${revision}#${stemOf(file)}`)}_`;
  return safe(`hf_${repository}_${mark}${isMain ? "" : `${revision}_`}${file}`);
}

/** The name holds where it comes from, so that two files of one name do not meet. */
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

/** Whatever follows the path, a key perhaps, is the same for all parts. */
export function partAddresses(address: string): string[] {
  return partsOf(new URL(address).pathname).map((path) => {
    const url = new URL(address);
    url.pathname = path;
    return url.href;
  });
}

const safe = (name: string): string => name.replaceAll(/[^\w.-]+/g, "_");

/** All parts of a model have one. */
const stemOf = (file: string): string => file.replace(/-\d{5}-of-\d{5}(?=\.gguf$)/i, "");

const shortDigest = (text: string): string =>
  new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 8);

const Manifest = T.Object({
  ggufFile: T.Object({ rfilename: T.String({ pattern: "^[^\\x00-\\x1f]+\\.[gG][gG][uU][fF]$" }) }),
});

/** The file that the hub has for a form of the weights. */
async function chosenFile(
  repository: string,
  quantization: string,
  subject: Subject,
  patience: Patience,
): Promise<string> {
  const answer = await askPatiently(
    {
      url: manifestAddress(patience.hub, repository, quantization),
      // The hub names the file to this client only.
      headers: { "user-agent": "llama-cpp" },
    },
    { ...subject, wanted: `GGUF file of the form '${quantization}'` },
    patience,
  );
  const manifest = parsed(await readText(answer.response));
  if (Value.Check(Manifest, manifest)) return manifest.ggufFile.rfilename;
  throw new NodeError(
    "unavailable",
    `The hub does not say which file of ${repository} has the form '${quantization}'. Name the file: hf:${repository}/FILE.gguf.`,
  );
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
