/** Whether the servers of models that run elsewhere answer, take the node's key, and know the model. */
import { ConfigError } from "../../config/config-error.ts";
import type { ModelConfig } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { isUpstream, upstreamUrls } from "../../config/upstream-source.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { noLog } from "../../core/log.ts";
import { isLoopback } from "../../core/loopback.ts";
import { toUpstreamSpec } from "../../node/node-settings.ts";
import {
  rerankerSettings,
  toUpstreamTarget,
  type UpstreamSettings,
} from "../../node/upstream-target.ts";
import { openUpstreamModel, openUpstreamReranker } from "../../upstream/open-upstream.ts";
import type { UpstreamTarget } from "../../upstream/upstream-target.ts";
import { type Finding, note, ok, problem } from "./finding.ts";
import type { Installation } from "./installation.ts";

/** A model, or the reranker, that runs elsewhere. */
export interface Upstream {
  /** `model llama-70b`. */
  check: string;
  settings: UpstreamSettings;
  /** Absent for the reranker. */
  model?: ModelConfig;
}

export function upstreamsOf({ models, retrieval }: Config): Upstream[] {
  const { reranker } = retrieval;
  return [
    ...models
      .filter(({ source }) => isUpstream(source))
      .map((model) => ({ check: `model ${model.name}`, settings: model, model })),
    ...(reranker !== undefined && isUpstream(reranker)
      ? [{ check: "reranker", settings: rerankerSettings(retrieval, reranker) }]
      : []),
  ];
}

/** A finding for each address. */
export async function checkUpstream(
  { secretOf }: Pick<Installation, "secretOf">,
  { check, settings, model }: Upstream,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const url of upstreamUrls(settings)) {
    const alone = { ...settings, source: `openai:${url}`, replicas: [] };
    try {
      const target = toUpstreamTarget(alone, { secretOf, log: noLog });
      using _ = target.replicas;
      findings.push(ok(check, `${url}: ${await ask(target, model, signal)}`));
      if (target.key !== undefined && isOpenWay(url)) findings.push(clearKey(check, url));
    } catch (error) {
      if (error instanceof ConfigError) return [problem(check, error.message, "Set it.")];
      findings.push(toFinding(check, url, error));
    }
  }
  return findings;
}

/** What is known of it once it answers. */
async function ask(
  target: UpstreamTarget,
  model: ModelConfig | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (model === undefined) {
    await using reranker = openUpstreamReranker(target);
    await reranker.rank("Does it rank?", ["It ranks."], { signal });
    return "it ranks.";
  }
  await using opened = await openUpstreamModel(toUpstreamSpec(model), target, signal);
  const { upstream, settings } = opened.card;
  return `${upstream?.server} has '${upstream?.model}', with ${settings.ctxSize} tokens; they are ${upstream?.tokens}.`;
}

function toFinding(check: string, url: string, error: unknown): Finding {
  const message = `${url}: ${reasonOf(error)}`;
  const kind = error instanceof NodeError ? error.kind : undefined;
  if (kind !== "upstream_refused") {
    return problem(
      check,
      message,
      "Start the server, or correct the address; until then the node is not ready.",
    );
  }
  return problem(
    check,
    message,
    "Correct 'upstream_model' or 'api_key_env' of the model, or its server's settings.",
  );
}

const isOpenWay = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
};

const clearKey = (check: string, url: string): Finding =>
  note(
    check,
    `${url}: the key goes there unencrypted.`,
    "Have the server speak https, unless the network is yours alone.",
  );
