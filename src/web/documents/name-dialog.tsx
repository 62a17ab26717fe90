/** Asks for the name of a collection, to make or to rename one. */
import { useId, useState } from "preact/hooks";
import { Dialog } from "../components/dialog.tsx";
import { FailureNote } from "../components/failure-note.tsx";
import { failureOf } from "../failure.ts";

const longest = 256;

export interface NameDialogProps {
  title: string;
  action: string;
  name?: string;
  /** Settles when the node has done it. */
  onName: (name: string) => Promise<void>;
  onClose: () => void;
}

export function NameDialog({ title, action, name = "", onName, onClose }: NameDialogProps) {
  const [text, setText] = useState(name);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || text.trim() === "") return;
    setBusy(true);
    try {
      await onName(text.trim());
      onClose();
    } catch (error) {
      setFailure(failureOf(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <label for={id}>Name of the collection</label>
        <input
          id={id}
          required
          maxLength={longest}
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        {failure !== undefined && <FailureNote message={failure} />}
        <div class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
