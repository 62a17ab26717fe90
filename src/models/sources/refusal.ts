/** Error responses of a server, explained with what to do about them. */
import { NodeError } from "../../core/errors.ts";
import { RetryableError, type SourceResponse } from "./http-request.ts";
import { type Hub, isOfHub } from "./hub.ts";

export interface Subject {
  /** The source as the operator wrote it. */
  source: string;
  /** Default: a model. */
  what?: "model" | "package";
  hub: Hub;
  /** `owner/repo`, where it is the hub's. */
  repository?: string;
  /** What was looked for in it. */
  wanted?: string;
}

export const cannotBeFetched = ({ what = "model", source }: Subject): string =>
  `The ${what} '${source}' cannot be fetched:`;

/** Throws for an error response; 416 is left to the caller. */
export async function refuse({ response, url }: SourceResponse, subject: Subject): Promise<void> {
  const { status } = response;
  if (response.ok || status === 416) return;
  await response.body?.cancel();
  if (status === 408 || status === 429 || status >= 500) {
    throw new RetryableError(`${new URL(url).host} answers ${status}`);
  }
  throw new NodeError("unavailable", explain(response, url, subject));
}

function explain({ status, headers }: Response, url: string, subject: Subject): string {
  const { hub, repository, wanted } = subject;
  const code = headers.get("x-error-code") ?? "";
  const start = cannotBeFetched(subject);
  const { host } = new URL(url);
  if (repository === undefined || !isOfHub(hub, url)) {
    if (status === 404) return `${start} ${host} has no ${new URL(url).pathname}.`;
    return `${start} ${host} answers ${status}.`;
  }
  const page = `${hub.endpoint}/${repository}`;
  if (code === "GatedRepo" || status === 403) {
    return hub.token === undefined
      ? `${start} the repository ${repository} is gated. Accept its terms at ${page}, make a token that may read it, and set HF_TOKEN.`
      : `${start} the token in HF_TOKEN may not read the repository ${repository}. Accept its terms at ${page} with the account of the token.`;
  }
  if (status === 401) {
    return hub.token === undefined
      ? `${start} the repository ${repository} is not there, or it is gated or private. Look at ${page}; if it is gated, accept its terms and set HF_TOKEN to a token that may read it.`
      : `${start} the hub does not take the token in HF_TOKEN for ${repository}.`;
  }
  if (status === 404 || status === 400) {
    return code === "RepoNotFound"
      ? `${start} the hub has no repository ${repository}.`
      : `${start} the repository ${repository} has no ${wanted ?? "such file"}. Look at ${page}/tree/main.`;
  }
  return `${start} the hub answers ${status}.`;
}
