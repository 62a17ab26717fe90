/** Asks for the API key that the node wants. */
import { useId, useState } from "preact/hooks";
import { giveKey, giveNoKey, keyQuestion } from "../key.ts";
import { Dialog } from "./dialog.tsx";

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
          It is kept in this tab until you close it, and sent to this node only.
        </p>
        <div class="row end">
          <button type="button" onClick={giveNoKey}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Use this key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
