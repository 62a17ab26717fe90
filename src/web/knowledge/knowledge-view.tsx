/** The knowledge tab: searches collections and shows the passages found. */
import { computed, signal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { RetrieveResult } from "../../client/wire.ts";
import { announce } from "../browser.ts";
import { changeSettings, focusComposer, startConversation } from "../chat/store.ts";
import { send } from "../chat/turn.ts";
import { api, Questions, withKey } from "../client.ts";
import { Button, boundTo, FailureNote } from "../components/controls.tsx";
import { PassageItem } from "../components/passage-item.tsx";
import { CollectionChoice } from "../documents/collection-choice.tsx";
import { collections } from "../documents/collections.ts";
import { type Failure, failureOf } from "../failure.ts";
import { openTab } from "../frame.ts";
import { coming, embeddingModels, info } from "../node/state.ts";

interface Search {
  question: string;
  model: string;
  /** Absent: the node's default. */
  limit?: number | undefined;
  score_threshold?: number | undefined;
  /** Ids of the collections to search; absent: the node's own. */
  collection?: string[] | undefined;
}

type Outcome =
  | { state: "searching" }
  | { state: "found"; question: string; result: RetrieveResult; ms: number }
  | { state: "failed"; failure: Failure };

const outcome = signal<Outcome | undefined>(undefined);

const questions = new Questions();

function search({ question, ...rest }: Search): Promise<void> {
  outcome.value = { state: "searching" };
  const startedAt = performance.now();
  const messages = [{ role: "user" as const, content: question }];
  const request = { ...rest, messages, include_metadata: true };
  return questions.ask(
    () => withKey(() => api.retrieve(request)),
    (result) => {
      outcome.value = { state: "found", question, result, ms: performance.now() - startedAt };
      announce(`${result.points.length} passages found.`);
    },
    (error) => {
      outcome.value = { state: "failed", failure: failureOf(error) };
    },
  );
}

const question = signal("");
const limit = signal("");
const threshold = signal("");
const model = signal("");
const chosenIds = signal<readonly string[]>([]);
/** Without deleted collections. */
const chosen = computed(() =>
  chosenIds.value.filter((id) => collections.value.some((store) => store.id === id)),
);

const numberOf = (text: string): number | undefined => (text === "" ? undefined : Number(text));

function run(): void {
  const [first] = embeddingModels.value;
  if (question.value.trim() === "" || first === undefined) return;
  void search({
    question: question.value.trim(),
    model: model.value || first.name,
    limit: numberOf(limit.value),
    score_threshold: numberOf(threshold.value),
    collection: chosen.value.length === 0 ? undefined : [...chosen.value],
  });
}

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
          run();
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
            <div class="field">
              <label for={`${id}-model`}>Embedding model</label>
              <select
                id={`${id}-model`}
                value={model.value || embeddingModels.value[0]?.name}
                onChange={({ currentTarget }) => {
                  model.value = currentTarget.value;
                }}
              >
                {embeddingModels.value.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </div>
          )}
        </div>
        <CollectionChoice
          chosen={chosen.value}
          onChoose={(ids) => {
            chosenIds.value = ids;
          }}
        />
      </form>
      <Found outcome={outcome.value} />
    </div>
  );
}

function Found({ outcome }: { outcome: Outcome | undefined }) {
  if (outcome === undefined) return null;
  if (outcome.state === "searching") return <p class="note">Searching …</p>;
  if (outcome.state === "failed") {
    const { message, canRetry } = outcome.failure;
    return <FailureNote message={message} onRetry={canRetry ? run : undefined} />;
  }
  const { result, ms } = outcome;
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
              changeSettings({
                grounded: "on",
                collections: chosen.value.length === 0 ? undefined : chosen.value,
              });
              openTab("chat");
              void send(outcome.question);
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
