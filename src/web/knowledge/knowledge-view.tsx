/** The knowledge tab: searches collections and shows the passages found. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { useId } from "preact/hooks";
import type { RetrieveResult } from "../../client/wire.ts";
import { announce } from "../browser.ts";
import { changeSettings, focusComposer, startConversation } from "../chat/store.ts";
import { send } from "../chat/turn.ts";
import { api, Loaded, withKey } from "../client.ts";
import { Button, boundTo, FailureNote, ModelField } from "../components/controls.tsx";
import { PassageItem } from "../components/passage-item.tsx";
import { CollectionChoice } from "../documents/collection-list.tsx";
import { collections } from "../documents/collections.ts";
import { openTab } from "../frame.ts";
import { coming, embeddingModels, info } from "../node/state.ts";

const question = signal("");
const limit = signal("");
const threshold = signal("");
const model = signal("");
const chosenIds = signal<readonly string[] | undefined>(undefined);
/** Without deleted collections; undefined: the node's own. */
const chosen = computed(() => {
  const there = collections.value.filter(({ id }) => chosenIds.value?.includes(id));
  return there.length === 0 ? undefined : there.map(({ id }) => id);
});

const found = new Loaded<{ result: RetrieveResult; ms: number }>();
/** The question of the last search. */
const asked = signal<string | undefined>(undefined);

/** Undefined: the node's default. */
const numberOf = (text: string): number | undefined => (text === "" ? undefined : Number(text));

function search(): void {
  const [first] = embeddingModels.value;
  const content = question.value.trim();
  if (content === "" || first === undefined) return;
  asked.value = content;
  found.set(undefined);
  const startedAt = performance.now();
  const request = {
    messages: [{ role: "user" as const, content }],
    model: model.value || first.name,
    limit: numberOf(limit.value),
    score_threshold: numberOf(threshold.value),
    collection: chosen.value,
    include_metadata: true,
  };
  void found.load(async () => {
    const result = await withKey(() => api.retrieve(request));
    return { result, ms: performance.now() - startedAt };
  });
}

effect(() => {
  const points = found.value.value?.result.points;
  if (points !== undefined) untracked(() => announce(`${points.length} passages found.`));
});

export function KnowledgeView() {
  const id = useId();
  const store = info.value?.vectorstore_config;
  return (
    <div class="page-column">
      <h2>Knowledge</h2>
      <p class="lead">
        Ask your documents. The node shows the passages that match best, as it would give them to
        the model.
      </p>
      {coming.value.map((notice) => (
        <p key={notice} class="note" role="status">
          {notice}
        </p>
      ))}
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          search();
        }}
      >
        <div class="field question">
          <label for={`${id}-question`}>Question</label>
          <div class="row">
            <input
              id={`${id}-question`}
              type="search"
              required
              placeholder="How do I add an API key?"
              {...boundTo(question)}
            />
            <button type="submit" class="primary" disabled={embeddingModels.value.length === 0}>
              Search
            </button>
          </div>
        </div>
        <div class="numbers">
          <div class="field">
            <label for={`${id}-limit`}>Most passages</label>
            <input
              id={`${id}-limit`}
              type="number"
              min={1}
              max={store?.limit}
              placeholder={store && `${store.limit}`}
              {...boundTo(limit)}
            />
          </div>
          <div class="field">
            <label for={`${id}-threshold`}>Least score</label>
            <input
              id={`${id}-threshold`}
              type="number"
              min={-1}
              max={1}
              step="any"
              placeholder={store && `${store.score_threshold}`}
              {...boundTo(threshold)}
            />
          </div>
          {embeddingModels.value.length > 1 && (
            <ModelField
              label="Embedding model"
              models={embeddingModels.value}
              value={model.value || embeddingModels.value[0]?.name}
              onChoose={(name) => {
                model.value = name;
              }}
            />
          )}
        </div>
        <CollectionChoice
          chosen={chosen.value}
          onChoose={(ids) => {
            chosenIds.value = ids;
          }}
        />
      </form>
      <Found />
    </div>
  );
}

function Found() {
  const { value: failure } = found.failure;
  const { value: content } = asked;
  if (content === undefined) return null;
  if (failure !== undefined) {
    return (
      <FailureNote message={failure.message} onRetry={failure.canRetry ? search : undefined} />
    );
  }
  if (found.value.value === undefined) return <p class="note">Searching …</p>;
  const { result, ms } = found.value.value;
  const count = result.points.length;
  return (
    <section aria-label="Passages found">
      <div class="row between">
        <p class="note">
          {count === 1 ? "1 passage" : `${count} passages`} in {ms.toFixed(0)} ms: at most{" "}
          {result.limit}, with a score of {result.score_threshold} or more.
        </p>
        {count > 0 && (
          <Button
            label="Have the model answer this"
            onClick={() => {
              startConversation();
              changeSettings({ grounded: "on", collections: chosen.value });
              openTab("chat");
              void send(content);
              focusComposer();
            }}
          />
        )}
      </div>
      {count === 0 ? (
        <p>
          No passage is that close to the question. Ask in other words, or{" "}
          <a href="#documents">add documents</a>.
        </p>
      ) : (
        <ol class="passages">
          {result.points.map((point, at) => (
            <PassageItem key={point.metadata?.id ?? at} point={point} marker={at + 1} />
          ))}
        </ol>
      )}
    </section>
  );
}
