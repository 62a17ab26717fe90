/** What a node tells of a model that runs elsewhere. */
import type { ModelCard } from "../core/models/model.ts";
import type { UpstreamSpec } from "./open-upstream.ts";
import type { ListedModel, ServerFacts } from "./server-facts.ts";
import { kindNames } from "./server-kind.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

interface Known {
  facts: ServerFacts;
  listed: ListedModel | undefined;
  isCounted: boolean;
}

export function cardOf(
  { name, type, settings }: UpstreamSpec,
  { upstreamModel, replicas }: UpstreamTarget,
  { facts, listed, isCounted }: Known,
): ModelCard {
  const { kind, version } = facts;
  const server = version === undefined ? kindNames[kind] : `${kindNames[kind]} ${version}`;
  return {
    name,
    type,
    createdAt: listed?.created === undefined ? new Date() : new Date(listed.created * 1000),
    ownedBy: listed?.ownedBy ?? "upstream",
    settings,
    upstream: {
      model: upstreamModel,
      server,
      tokens: isCounted ? "counted" : "estimated",
      urls: () => replicas.all().map(({ url }) => url),
    },
  };
}

/** Changes only when the model's name there, its server or the settings do. */
export const fingerprintOf = (
  { settings }: UpstreamSpec,
  { upstreamModel }: UpstreamTarget,
  { kind, version, weights }: ServerFacts,
): string => `fp_${digest([upstreamModel, kind, version, weights, settings]).slice(0, 12)}`;

export const digest = (parts: unknown): string =>
  new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex");
