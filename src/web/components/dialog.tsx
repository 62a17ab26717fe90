/** A modal dialog, and the one that asks for the API key. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { giveKey, giveNoKey, keyQuestion } from "../client.ts";
import { Button } from "./controls.tsx";

interface DialogProps {
  title: string;
  /** Whether it is wide enough to read documents. */
  wide?: boolean;
  onClose: () => void;
  /** Element to focus after closing. Default, also for null: the one focused before. */
  focusAfter?: () => HTMLElement | null;
  children: ComponentChildren;
}

export function Dialog({ title, wide = false, onClose, focusAfter, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      const after = focusAfter?.() ?? before;
      if (after instanceof HTMLElement) after.focus();
    };
  }, []);
  return (
    <dialog ref={element} class={wide ? "wide" : undefined} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

export function KeyDialog() {
  const question = keyQuestion.value;
  return question === undefined ? null : <Question reason={question.reason} />;
}

function Question({ reason }: { reason: string }) {
  const [text, setText] = useState("");
  const id = useId();
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() !== "") giveKey(text.trim());
  };
  return (
    <Dialog title="This node wants an API key" onClose={giveNoKey}>
      <form onSubmit={submit}>
        <p id={`${id}-reason`}>{reason}</p>
        <label for={id}>API key</label>
        <input
          id={id}
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          aria-describedby={`${id}-reason ${id}-note`}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <p id={`${id}-note`} class="note">
          It is stored in this tab until you close it, and sent to this node only.
        </p>
        <div class="row end">
          <Button label="Cancel" onClick={giveNoKey} />
          <button type="submit" class="primary">
            Use this key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
