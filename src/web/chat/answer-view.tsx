/** An answer: its text, how it went, and what it is grounded in. */

import { useMemo } from "preact/hooks";
import type { Point } from "../../client/wire.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { FailureNote } from "../components/failure-note.tsx";
import { read, readingOf } from "../documents/reading.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { MarkerContext, type MarkerTarget } from "../markdown/marked-text.tsx";
import { type AnswerTurn, type Measures, speedOf } from "./conversation.ts";
import { focusComposer } from "./panels.ts";
import { Sources } from "./sources.tsx";
import { retry } from "./turn.ts";

export interface AnswerViewProps {
  turn: AnswerTurn;
  conversationId: string;
  /** Only the last answer can be asked for again. */
  isLast: boolean;
}

export function AnswerView({ turn, conversationId, isLast }: AnswerViewProps) {
  const { content, thoughts, state, failure, retrieval, measures, cut } = turn;
  const points = retrieval?.points;
  // The same for the same passages, so that a growing answer does not draw all its markers anew.
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
          <p class="waiting">Waiting for the first word</p>
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
            {measures !== undefined && <MeasuresLine {...measures} />}
            <div class="row">
              {content !== "" && <CopyButton text={content} label="Copy answer" />}
              {isLast && failure === undefined && (
                <button type="button" class="quiet" aria-label="Retry this answer" onClick={again}>
                  Retry
                </button>
              )}
            </div>
          </footer>
        )}
      </div>
      {retrieval !== undefined && <Sources retrieval={retrieval} />}
    </article>
  );
}

/** What the markers of an answer open; undefined where it is not known where its passages are. */
function targetOf(points: readonly Point[] = []): MarkerTarget | undefined {
  const places = points.map(readingOf);
  if (!places.some((place) => place !== undefined)) return undefined;
  const open = (marker: number): void => {
    const place = places[marker - 1];
    if (place !== undefined) read(place);
  };
  return { count: points.length, open };
}

function MeasuresLine(measures: Measures) {
  const { promptTokens, tokens, firstTokenMs } = measures;
  const speed = speedOf(measures);
  return (
    <dl class="measures">
      <div>
        <dt>Prompt</dt>
        <dd>{promptTokens} tokens</dd>
      </div>
      <div>
        <dt>Answer</dt>
        <dd>{tokens} tokens</dd>
      </div>
      {speed !== undefined && (
        <div>
          <dt>Speed</dt>
          <dd>{speed.toFixed(1)} tokens/s</dd>
        </div>
      )}
      <div>
        <dt>First token</dt>
        <dd>{(firstTokenMs / 1000).toFixed(2)} s</dd>
      </div>
    </dl>
  );
}
