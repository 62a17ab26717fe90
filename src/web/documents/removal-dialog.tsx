/** Asks before something is removed, says what is lost, and shows how far it is. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../announce.ts";
import { Dialog } from "../components/dialog.tsx";
import { FailureNote } from "../components/failure-note.tsx";
import { failureOf } from "../failure.ts";
import type { RemovalOptions } from "./removal.ts";

export interface RemovalDialogProps {
  title: string;
  /** What is lost, in a sentence. */
  lost: ComponentChildren;
  /** What the button says. */
  action: string;
  /** What is deleted with it where the reader wants that; undefined where there is nothing. */
  files: string | undefined;
  /** How many steps it takes, where they are many. */
  steps?: number;
  remove: (options: RemovalOptions) => Promise<void>;
  onClose: () => void;
  /** Something was removed: all of it, or what came before a failure. */
  onDone: (isComplete: boolean) => void;
  /** Id of what has the focus afterwards: what was asked about is gone. */
  focusAfter: string;
}

export function RemovalDialog(props: RemovalDialogProps) {
  const { title, lost, action, files, steps, remove, onClose, onDone, focusAfter } = props;
  const [withFiles, setWithFiles] = useState(true);
  const [done, setDone] = useState<number>();
  const [failure, setFailure] = useState<string>();
  const isDone = useRef(false);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const isRunning = done !== undefined;
  const run = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setDone(0);
    setFailure(undefined);
    try {
      await remove({
        withFiles: withFiles && files !== undefined,
        signal: controller.signal,
        onProgress: setDone,
      });
      announce("Removed.");
      isDone.current = true;
      onClose();
    } catch (error) {
      if (!controller.signal.aborted) setFailure(failureOf(error).message);
      setDone(undefined);
    }
    onDone(isDone.current);
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      focusAfter={() => (isDone.current ? document.getElementById(focusAfter) : null)}
    >
      <p>{lost}</p>
      {files !== undefined && (
        <label class="check">
          <input
            type="checkbox"
            checked={withFiles}
            disabled={isRunning}
            onChange={({ currentTarget }) => setWithFiles(currentTarget.checked)}
          />
          <span>Also delete {files} from the node, and with that from other collections</span>
        </label>
      )}
      {failure !== undefined && <FailureNote message={failure} />}
      {isRunning && steps !== undefined && steps > 1 && (
        <p class="note" role="status">
          Removed {done} of {steps} …
        </p>
      )}
      <div class="row end">
        <button type="button" onClick={isRunning ? () => running.current?.abort() : onClose}>
          {isRunning ? "Stop" : "Keep it"}
        </button>
        <button type="button" class="primary" disabled={isRunning} onClick={() => void run()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
