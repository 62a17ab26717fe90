/** The question field: Enter sends, Shift+Enter inserts a new line, Escape stops the answer. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Button, boundTo } from "../components/controls.tsx";
import { CollectionChoice } from "../documents/collection-list.tsx";
import { firstCollections } from "../documents/collections.ts";
import { chatModels } from "../node/state.ts";
import { type Grounded, groundings } from "./conversation.ts";
import { AddImage, DraftImages, draftImages, onPaste } from "./images.tsx";
import {
  changeSettings,
  chooseGrounded,
  current,
  draft,
  focusComposer,
  isWriting,
  lastSettings,
} from "./store.ts";
import { send, stop } from "./turn.ts";

const closedByEscape = "dialog, details[open], .renaming";

const meaning: Record<Grounded, string> = {
  off: "The model answers by itself.",
  auto: "The model answers from documents where they clearly match the question.",
  on: "The model answers from documents.",
};

const isEmpty = (): boolean => draft.value.trim() === "" && draftImages.value.length === 0;

export function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  const writing = current.value?.turns.some(isWriting);
  const ready = chatModels.value.length > 0;
  const { model, grounded, collections } = lastSettings();
  useLayoutEffect(() => {
    if (field.current === null) return;
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight + 2}px`;
  }, [draft.value]);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    // They decide whether a first question is answered from documents.
    if (ready) await firstCollections;
    const question = draft.value.trim();
    if (current.value?.turns.some(isWriting) || !ready || isEmpty()) return;
    draft.value = "";
    void send(question);
  };
  const stopAnswer = (): void => {
    if (current.value !== undefined) stop(current.value.id);
    focusComposer();
  };
  useEffect(() => {
    if (writing !== true) return;
    // From anywhere on the page, unless Escape closes something there.
    const onEscape = ({ key, target }: KeyboardEvent): void => {
      const closesSomething = target instanceof Element && target.closest(closedByEscape) !== null;
      if (key === "Escape" && !closesSomething) stopAnswer();
    };
    document.addEventListener("keydown", onEscape);
    return () => document.removeEventListener("keydown", onEscape);
  }, [writing]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) void submit(event);
  };

  return (
    <form class="composer" onSubmit={submit}>
      <DraftImages />
      <label for="question" class="visually-hidden">
        Your question
      </label>
      <textarea
        id="question"
        ref={field}
        rows={1}
        placeholder="Ask something"
        autocomplete="off"
        {...boundTo(draft)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div class="row">
        <fieldset class="segments">
          <legend>Documents</legend>
          {groundings.map((value) => (
            <label key={value} title={meaning[value]}>
              <input
                type="radio"
                name="grounded"
                checked={grounded === value}
                onChange={() => chooseGrounded(value)}
              />
              <span>{value}</span>
            </label>
          ))}
        </fieldset>
        {grounded !== "off" && (
          <CollectionChoice
            chosen={collections}
            onChoose={(collections) => changeSettings({ collections })}
          />
        )}
        <AddImage />
        <span class="note model">{model}</span>
        {writing ? (
          <Button label="Stop" class="primary" onClick={stopAnswer} />
        ) : (
          <button type="submit" class="primary" disabled={!ready || isEmpty()}>
            Send
          </button>
        )}
      </div>
    </form>
  );
}
