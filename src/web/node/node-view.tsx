/** The node tab: readiness, load, models with their settings, and the collection. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError } from "../../client/api-error.ts";
import type { ModelInfo } from "../../client/wire.ts";
import { api, forgetKey, key } from "../client.ts";
import { Button, type Fact, Facts, FailureNote } from "../components/controls.tsx";
import { failureOf } from "../failure.ts";
import { kinds } from "../models/facts.ts";
import {
  info,
  modelList,
  nodeFailure,
  pollNode,
  readiness,
  refreshNode,
  whileVisible,
} from "./state.ts";

export function NodeView() {
  useEffect(watchLoad, []);
  const about = info.value;
  const failure = nodeFailure.value;
  return (
    <div class="page-column">
      <h2>Node</h2>
      {failure !== undefined && (
        <FailureNote message={failure.message} onRetry={() => void refreshNode()} />
      )}
      <Health />
      <Load />
      <section aria-labelledby="models-title">
        <h3 id="models-title">Models</h3>
        {about?.models.length === 0 && <p>None is ready yet.</p>}
        <div class="cards">
          {about?.models.map((model) => (
            <ModelCard key={model.name} model={model} />
          ))}
        </div>
      </section>
      {about !== undefined && (
        <section aria-labelledby="collection-title">
          <h3 id="collection-title">Collection</h3>
          <Facts
            facts={[
              ["Name", about.vectorstore_config.collection_name],
              ["Store", about.vectorstore_config.url],
              ["Most passages", about.vectorstore_config.limit],
              ["Least score", about.vectorstore_config.score_threshold],
            ]}
          />
        </section>
      )}
      {key.value !== null && (
        <section aria-labelledby="key-title">
          <h3 id="key-title">API key</h3>
          <p>This tab has a key, and sends it with every request to this node.</p>
          <Button label="Forget the key" onClick={forgetKey} />
        </section>
      )}
    </div>
  );
}

function Health() {
  const ready = readiness.value;
  const about = info.value;
  const isReady = ready?.status === "ready";
  return (
    <section aria-labelledby="health-title" class="health">
      <h3 id="health-title">Health</h3>
      {ready === undefined ? (
        <p>The node has not answered yet.</p>
      ) : (
        <>
          <p class={`badge ${isReady ? "good" : "bad"}`}>
            {isReady ? readyText(ready.reasons) : "Not ready yet"}
          </p>
          {ready.reasons.length > 0 && (
            <ul>
              {ready.reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          )}
        </>
      )}
      {about !== undefined && (
        <p class="note">
          Paddock {about.version}, {about.plugin_version}
        </p>
      )}
    </section>
  );
}

const readyText = (coming: readonly string[]): string =>
  coming.length === 0
    ? "The node is ready: every model and the collection are."
    : "The node answers; this is still being made:";

function Load() {
  const taken = samples.value;
  const last = taken.at(-1);
  const speeds = taken.map(({ tokensPerSecond }) => tokensPerSecond);
  const queues = taken.map(({ queue }) => queue);
  return (
    <section aria-labelledby="load-title">
      <h3 id="load-title">Load</h3>
      {loadFailure.value !== undefined ? (
        <p>{loadFailure}</p>
      ) : (
        <>
          <div class="cards">
            <Sparkline name="Tokens a second" unit="tokens/s" digits={1} values={speeds} />
            <Sparkline name="Queue" unit="waiting" digits={0} values={queues} />
          </div>
          {last !== undefined && (
            <p class="note">
              {last.slotsInUse} of {last.slots} slots answer right now.
            </p>
          )}
        </>
      )}
    </section>
  );
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

function ModelCard({ model }: { model: ModelInfo }) {
  const made = modelList.value.find(({ id }) => id === model.name)?.created;
  const sampling: Fact[] =
    model.type !== "chat"
      ? []
      : [
          ["Prompt template", model.prompt_template],
          ["Most tokens", model.n_predict < 0 ? "no limit" : model.n_predict],
          ["Temperature", model.temperature],
          ["Top p", model.top_p],
          ["Min p", model.min_p],
          ["Repeat penalty", model.repeat_penalty],
          ["Presence penalty", model.presence_penalty],
          ["Frequency penalty", model.frequency_penalty],
          ["DRY", model.dry_multiplier === 0 ? "off" : model.dry_multiplier],
        ];
  return (
    <article class="card" aria-label={model.name}>
      <h4>{model.name}</h4>
      <p class="note">{kinds[model.type]}</p>
      <Facts
        facts={[
          ["Context", `${model.ctx_size} tokens`],
          ...placeOf(model),
          ...sampling,
          ["Made", made === undefined ? "" : dates.format(made * 1000)],
        ]}
      />
    </article>
  );
}

/** A model's resources on this machine, or its upstream server. */
function placeOf({ upstream, batch_size, n_gpu_layers }: ModelInfo): Fact[] {
  if (upstream === undefined) {
    return [
      ["Batch", `${batch_size} tokens`],
      ["GPU layers", n_gpu_layers],
    ];
  }
  return [
    ["Runs upstream", upstream.server],
    ["Called there", upstream.model],
    ["Addresses", upstream.urls.join(", ")],
    ["Prompts' tokens", upstream.tokens],
  ];
}

const width = 240;
const height = 48;

interface SparklineProps {
  name: string;
  unit: string;
  values: readonly number[];
  digits: number;
}

function Sparkline({ name, unit, values, digits }: SparklineProps) {
  const now = values.at(-1) ?? 0;
  const most = Math.max(...values, 1);
  const step = width / (mostSamples - 1);
  const left = width - step * (values.length - 1);
  const place = (value: number, at: number): string =>
    `${(left + at * step).toFixed(1)},${(height - 2 - (value / most) * (height - 6)).toFixed(1)}`;
  const line = values.map(place).join(" ");
  const text = `${now.toFixed(digits)} ${unit}`;
  return (
    <figure class="sparkline">
      <figcaption>
        <span>{name}</span>
        <strong>{text}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name} over the last two minutes: now ${text}, at most ${Math.max(...values, 0).toFixed(digits)}.`}
      >
        <polygon points={`${left.toFixed(1)},${height} ${line} ${width},${height}`} />
        <polyline points={line} />
      </svg>
    </figure>
  );
}

const mostSamples = 60;

/** Sums over all models. */
interface Load {
  queue: number;
  slotsInUse: number;
  slots: number;
  generatedTokens: number;
}

const samples = signal<readonly (Load & { tokensPerSecond: number })[]>([]);
const loadFailure = signal<string | undefined>(undefined);

let before: (Load & { at: number }) | undefined;

function watchLoad(): () => void {
  const stop = whileVisible(() => Promise.all([sample(), pollNode()]));
  return () => {
    stop();
    before = undefined;
  };
}

async function sample(): Promise<void> {
  try {
    add(readLoad(await api.metrics()));
    loadFailure.value = undefined;
  } catch (error) {
    loadFailure.value = reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError) || error.kind !== "status") return failureOf(error).message;
  const { status } = error;
  if (status === 404) return "This node reports no metrics, so there is no picture of its load.";
  if (status === 401 || status === 403) {
    return "The node's metrics need a key that opens them, so there is no picture of its load.";
  }
  return `The node answered a question about its load with status ${status}.`;
}

function add(load: Load): void {
  const at = performance.now();
  // The counter falls when the node is restarted.
  const grown = before === undefined ? 0 : load.generatedTokens - before.generatedTokens;
  const tokensPerSecond = before === undefined || grown < 0 ? 0 : (grown / (at - before.at)) * 1000;
  before = { ...load, at };
  samples.value = [...samples.value.slice(1 - mostSamples), { ...load, tokensPerSecond }];
}

/** From Prometheus' text format; missing metrics count as 0. */
function readLoad(text: string): Load {
  return {
    queue: sumOf(text, "paddock_queue_length"),
    slotsInUse: sumOf(text, "paddock_slots_in_use"),
    slots: sumOf(text, "paddock_slots"),
    generatedTokens: sumOf(text, "paddock_generated_tokens_total"),
  };
}

function sumOf(text: string, name: string): number {
  const samples = text.matchAll(new RegExp(`^${name}(?:\\{[^\\n]*\\})? +([^ \\n]+)`, "gm"));
  const values = samples.map(([, value]) => Number(value)).filter(Number.isFinite);
  return values.reduce((sum, value) => sum + value, 0);
}
