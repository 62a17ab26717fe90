/** Whether the servers of models that run elsewhere answer, take the node's key, and know the model. */
import { ConfigError } from "../../config/config-error.ts";
import { type ModelConfig, upstreamUrls } from "../../config/model-schema.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { noLog } from "../../core/log.ts";
import { isLoopback } from "../../core/loopback.ts";
import type { Upstream } from "../../gateway/upstream/ask.ts";
import { toUpstreamSpec } from "../../node/node-settings.ts";
import { type Finding, note, ok, problem } from "./finding.ts";
import type { Installation } from "./installation.ts";

/** A finding for each address. */
export async function checkUpstream(
  { secretOf }: Pick<Installation, "secretOf">,
  model: ModelConfig,
  signal: AbortSignal,
): Promise<Finding[]> {
  const check = `model ${model.name}`;
  const { toUpstream } = await import("../../node/gateway/upstream-models.ts");
  const findings: Finding[] = [];
  for (const url of upstreamUrls(model)) {
    const alone = { ...model, source: `openai:${url}`, replicas: [] };
    try {
      const upstream = toUpstream(alone, { log: noLog, ...given({ secretOf }) });
      using _ = upstream.replicas;
      findings.push(ok(check, `${url}: ${await ask(upstream, model, signal)}`));
      if (upstream.key !== undefined && isOpenWay(url)) findings.push(clearKey(check, url));
    } catch (error) {
      if (error instanceof ConfigError) return [problem(check, error.message, "Set it.")];
      findings.push(toFinding(check, url, error));
    }
  }
  return findings;
}

/** What is known of it once it answers. */
async function ask(upstream: Upstream, model: ModelConfig, signal: AbortSignal): Promise<string> {
  const { openUpstreamModel } = await import("../../gateway/upstream/open-model.ts");
  await using opened = await openUpstreamModel(toUpstreamSpec(model), upstream, signal);
  const { upstream: served, settings } = opened.card;
  return `${served?.server} has '${served?.model}', with ${settings.ctxSize} tokens; they are ${served?.tokens}.`;
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
