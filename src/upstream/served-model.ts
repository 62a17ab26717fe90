/** What a server says of the model that it is asked for, against what the configuration says. */
import { NodeError } from "../core/errors.ts";
import type { UpstreamSpec } from "./open-upstream.ts";
import type { ListedModel, ServerFacts } from "./server-facts.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

/** Tokens that are taken to fit where neither the server nor the configuration says so. */
const assumedContext = { chat: 4096, embedding: 512, reranker: 512 } as const;

/** What the server says of the model; llama-server and TEI serve one model, whatever they are asked for. */
export function checkListed(
  { type }: UpstreamSpec,
  { named, upstreamModel }: UpstreamTarget,
  { kind, models }: ServerFacts,
): ListedModel | undefined {
  const listed = models?.find(({ id }) => id === upstreamModel);
  if (kind === "llama-server" || kind === "tei") return listed ?? models?.[0];
  if (models === undefined) return undefined;
  if (listed === undefined) {
    const names = models
      .slice(0, mostNamed)
      .map(({ id }) => `'${id}'`)
      .join(", ");
    throw new NodeError(
      "upstream_refused",
      `The server of ${named} does not know a model '${upstreamModel}'; it has ${names || "none"}. Correct 'upstream_model'.`,
    );
  }
  if (listed.type !== undefined && listed.type !== type) {
    throw new NodeError(
      "upstream_refused",
      `The server of ${named} has '${upstreamModel}' as a model of type '${listed.type}'; it is configured as '${type}'.`,
    );
  }
  return listed;
}

const mostNamed = 8;

/** The server's, or less where the configuration says so. */
export function contextOf(
  { type, settings: { ctxSize } }: UpstreamSpec,
  { named, log }: UpstreamTarget,
  facts: ServerFacts,
  listed: ListedModel | undefined,
): number {
  const theirs = listed?.contextSize ?? facts.contextSize;
  if (theirs !== undefined && ctxSize > theirs) {
    log.warn("ctx_size is more than the server of a model takes", {
      of: named,
      ctx_size: ctxSize,
      theirs,
    });
  }
  if (theirs !== undefined) return ctxSize === 0 ? theirs : Math.min(ctxSize, theirs);
  if (ctxSize > 0) return ctxSize;
  const assumed = assumedContext[type];
  log.warn("nobody says how many tokens a model elsewhere takes; set 'ctx_size'", {
    of: named,
    assumed,
  });
  return assumed;
}
