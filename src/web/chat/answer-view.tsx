/** Shows an answer: its text, its measures and its sources. */
import { useMemo } from "preact/hooks";
import type { Point, Retrieval } from "../../client/wire.ts";
import { Button, CopyButton, type Fact, Facts, FailureNote } from "../components/controls.tsx";
import { PassageItem } from "../components/passage-item.tsx";
import { collectionsOf } from "../documents/collections.ts";
import { read, readingOf } from "../documents/reading.ts";
import { Markdown, MarkerContext, type MarkerTarget } from "../markdown/markdown.tsx";
import { modelList } from "../node/state.ts";
import { type AnswerTurn, type Measures, speedOf } from "./conversation.ts";
import { focusComposer } from "./store.ts";
import { retry } from "./turn.ts";

interface AnswerViewProps {
  turn: AnswerTurn;
  conversationId: string;
  /** Only the last answer can be retried. */
  isLast: boolean;
}

export function AnswerView({ turn, conversationId, isLast }: AnswerViewProps) {
  const { content, thoughts, state, failure, retrieval, measures, cut } = turn;
  const points = retrieval?.points;
  // Memoized, so that a growing answer does not redraw all its markers.
  const target = useMemo(() => targetOf(points), [points]);
  const again = (): void => {
    void retry(conversationId);
    focusComposer();
  };
  return (
    <article
      class={`turn answer${retrieval === undefined ? "" : " grounded"}`}
      aria-label={`Answer of ${turn.model}`}
      aria-busy={state === "writing"}
    >
      <div class="body">
        {thoughts !== undefined && (
          <details class="thoughts">
            <summary>Thoughts</summary>
            <p class="as-written">{thoughts}</p>
          </details>
        )}
        {content === "" && state === "writing" ? (
          <p class="waiting">
            {isLoaded(turn.model) ? "Waiting for the first word" : "Loading the model"}
          </p>
        ) : (
          <MarkerContext.Provider value={target}>
            <Markdown text={content} />
          </MarkerContext.Provider>
        )}
        {state === "stopped" && <p class="note">You stopped this answer.</p>}
        {cut === true && <p class="note">Cut here: it reached the most tokens it may have.</p>}
        {failure !== undefined && (
          <FailureNote
            message={failure.message}
            onRetry={failure.canRetry && isLast ? again : undefined}
          />
        )}
        {state !== "writing" && (
          <footer class="row">
            {measures !== undefined && <Facts class="measures" facts={factsOf(measures)} />}
            <div class="row">
              {content !== "" && <CopyButton text={content} label="Copy answer" />}
              {isLast && failure === undefined && (
                <Button
                  label="Retry"
                  class="quiet"
                  aria-label="Retry this answer"
                  onClick={again}
                />
              )}
            </div>
          </footer>
        )}
      </div>
      {retrieval !== undefined && <Sources retrieval={retrieval} />}
    </article>
  );
}

/** An upstream model is always. */
const isLoaded = (name: string): boolean =>
  modelList.value.find(({ id }) => id === name)?.loaded !== false;

/** What an answer's markers open; undefined if the location of its passages is not known. */
function targetOf(points: readonly Point[] = []): MarkerTarget | undefined {
  const places = points.map(readingOf);
  if (!places.some((place) => place !== undefined)) return undefined;
  const open = (marker: number): void => {
    const place = places[marker - 1];
    if (place !== undefined) read(place);
  };
  return { count: points.length, open };
}

function factsOf(measures: Measures): Fact[] {
  const speed = speedOf(measures);
  return [
    ["Prompt", `${measures.promptTokens} tokens`],
    ["Answer", `${measures.tokens} tokens`],
    ...(speed === undefined ? [] : [["Speed", `${speed.toFixed(1)} tokens/s`] as const]),
    ["First token", `${(measures.firstTokenMs / 1000).toFixed(2)} s`],
  ];
}

function Sources({ retrieval }: { retrieval: Retrieval }) {
  const { points, dropped, carried = 0, error, notice } = retrieval;
  const from = collectionsOf(points);
  // The best one is shown: where a small model is wrong, the answer is there.
  const best = Math.max(...points.map(({ score }) => score));
  return (
    <aside class="sources" aria-label="Sources of this answer">
      <h3>Sources</h3>
      {from.length > 0 && (
        <p class="note">
          From the {from.length === 1 ? "collection" : "collections"}{" "}
          {from.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <bdi>{name}</bdi>
            </span>
          ))}
        </p>
      )}
      {error !== undefined && (
        <p class="note">The documents could not be searched, so this is not from them: {error}</p>
      )}
      {error === undefined && points.length === 0 && (
        <p class="note">No passage matched the question, so this is not from your documents.</p>
      )}
      {notice !== undefined && <p class="note">{notice}</p>}
      {points.length > 0 && (
        <ol>
          {points.map((point, at) => (
            <PassageItem
              key={point.metadata?.id ?? at}
              point={point}
              marker={at + 1}
              folded
              open={point.score === best}
            />
          ))}
        </ol>
      )}
      {carried > 0 && (
        <p class="note">
          {carried === 1 ? "The first is" : `The first ${carried} are`} from earlier questions.
        </p>
      )}
      {dropped > 0 && (
        <p class="note">
          {dropped} more {dropped === 1 ? "passage was" : "passages were"} left out: another one
          holds the same, or the model's context is full.
        </p>
      )}
    </aside>
  );
}
