/** Shows a document's passages in order, and highlights the one that an answer's marker led to. */
import { useEffect, useRef } from "preact/hooks";
import { Button, Dialog, FailureNote, scrolls } from "../components/controls.tsx";
import {
  closeReading,
  loadPassages,
  type MarkedPassage,
  markedAt,
  type PassagesShown,
  pageSize,
  passages,
  type Reading,
  reading,
} from "./reading.ts";

export function ReaderDialog() {
  const shown = reading.value;
  if (shown === undefined) return null;
  return (
    <Dialog title={shown.name} wide onClose={closeReading}>
      <Content shown={shown} />
      <div class="row end">
        <Button label="Close" onClick={closeReading} />
      </div>
    </Dialog>
  );
}

function Content({ shown }: { shown: Reading }) {
  const { marked, file } = shown;
  const page = passages.value.value;
  const failure = passages.failure.value;
  if (failure !== undefined) {
    const retry = (): void => void loadPassages(shown, page?.from ?? 0);
    return (
      <>
        <FailureNote message={failure.message} onRetry={failure.canRetry ? retry : undefined} />
        <AsGiven marked={marked} />
      </>
    );
  }
  if (page === undefined) return <p class="note">Opening the document …</p>;
  return <Passages key={file} page={page} shown={shown} />;
}

function Passages({ page, shown }: { page: PassagesShown; shown: Reading }) {
  const { from, texts, hasMore } = page;
  const { marked } = shown;
  const scroller = useRef<HTMLElement>(null);
  const at = markedAt(page, marked);
  useEffect(() => {
    scroller.current?.focus();
    const [found] = scroller.current?.getElementsByClassName("marked") ?? [];
    if (found === undefined) scroller.current?.scrollTo({ top: 0 });
    else found.scrollIntoView({ block: "center" });
  }, [from]);
  if (texts.length === 0) {
    return (
      <>
        <p>Nothing of this document can be read here: it was removed, or is not ingested yet.</p>
        <AsGiven marked={marked} />
      </>
    );
  }
  return (
    <>
      <div class="row between">
        <p class="note">
          Passages {from + 1} to {from + texts.length}
        </p>
        {(from > 0 || hasMore) && (
          <div class="row">
            <Button
              label="Earlier passages"
              class="quiet"
              disabled={from === 0}
              onClick={() => void loadPassages(shown, Math.max(0, from - pageSize))}
            />
            <Button
              label="Later passages"
              class="quiet"
              disabled={!hasMore}
              onClick={() => void loadPassages(shown, from + pageSize)}
            />
          </div>
        )}
      </div>
      {at === -1 && (
        <>
          <p class="note" role="status">
            The document has changed since: this is what the answer was given.
          </p>
          <AsGiven marked={marked} />
        </>
      )}
      <section class="reader" ref={scroller} aria-label="Passages of this document" {...scrolls}>
        <ol start={from + 1}>
          {texts.map((passage, index) => {
            const isMarked = index === at;
            return (
              <li
                key={from + index}
                class={isMarked ? "marked" : undefined}
                aria-current={isMarked ? "true" : undefined}
              >
                <span class="marker">
                  <span class="visually-hidden">
                    {isMarked ? "The passage of the answer, " : "Passage "}
                  </span>
                  {from + index + 1}
                </span>
                <p class="as-written">{passage}</p>
              </li>
            );
          })}
        </ol>
      </section>
    </>
  );
}

function AsGiven({ marked }: { marked: MarkedPassage | undefined }) {
  if (marked === undefined) return null;
  const { source, heading } = marked;
  return (
    <blockquote class="as-given">
      {heading !== null && <p class="note">{heading}</p>}
      <p class="as-written">{source}</p>
    </blockquote>
  );
}
