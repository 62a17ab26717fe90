/** Removes documents and collections, after a confirmation. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../client/api-error.ts";
import type { VectorStoreFile } from "../../client/wire.ts";
import { announce } from "../browser.ts";
import { api, withKey } from "../client.ts";
import { Button, Dialog, FailureNote } from "../components/controls.tsx";
import { failureOf } from "../failure.ts";

interface RemovalDialogProps {
  title: string;
  lost: ComponentChildren;
  action: string;
  /** What can be deleted with it, by choice; undefined if there is nothing. */
  files: string | undefined;
  /** Number of steps, if there are many. */
  steps?: number;
  /** Whether it ends when the user asks for that. Default: true. */
  canStop?: boolean;
  remove: (options: RemovalOptions) => Promise<void>;
  onClose: () => void;
  /** Something was removed: all of it, or what came before a failure. */
  onDone: (isComplete: boolean) => void;
  /** Id of the element to focus afterwards, since the removed one is gone. */
  focusAfter: string;
}

export function RemovalDialog(props: RemovalDialogProps) {
  const { title, lost, action, files, steps, canStop = true } = props;
  const { remove, onClose, onDone, focusAfter } = props;
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
        <Button
          label={isRunning && canStop ? "Stop" : "Keep it"}
          disabled={isRunning && !canStop}
          onClick={isRunning ? () => running.current?.abort() : onClose}
        />
        <Button label={action} class="primary" disabled={isRunning} onClick={() => void run()} />
      </div>
    </Dialog>
  );
}

/** A document that was not uploaded has no file on the node. */
export const isUploaded = ({ id }: Pick<VectorStoreFile, "id">): boolean =>
  !id.startsWith("file-doc-");

interface RemovalOptions {
  /** Whether the uploaded files are deleted too, from every collection. */
  withFiles: boolean;
  signal: AbortSignal;
  onProgress?: (done: number) => void;
}

type Removed = Pick<VectorStoreFile, "id">;

export async function removeDocument(
  store: string,
  file: Removed,
  { withFiles, signal }: RemovalOptions,
): Promise<void> {
  await unlessGone(withKey(() => api.removeFile(store, file.id, { signal }), signal));
  if (withFiles && isUploaded(file)) await deleteFile(file, signal);
}

const pageSize = 100;

export async function emptyCollection(store: string, options: RemovalOptions): Promise<void> {
  const { signal, onProgress } = options;
  let done = 0;
  for (;;) {
    // Always the first page: removed documents disappear from it.
    const { data } = await withKey(() => api.storeFiles(store, { limit: pageSize, signal }));
    if (data.length === 0) return;
    for (const file of data) {
      await removeDocument(store, file, options);
      done++;
      onProgress?.(done);
    }
  }
}

/** Files first: if one cannot be deleted, the collection still shows what is left. */
export async function deleteCollection(store: string, options: RemovalOptions): Promise<void> {
  const { withFiles, signal, onProgress } = options;
  const files = withFiles ? await uploadedFiles(store, signal) : [];
  for (const [at, file] of files.entries()) {
    await deleteFile(file, signal);
    onProgress?.(at + 1);
  }
  await unlessGone(withKey(() => api.deleteStore(store, { signal }), signal));
}

async function uploadedFiles(store: string, signal: AbortSignal): Promise<Removed[]> {
  const files: Removed[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await withKey(() => api.storeFiles(store, { limit: pageSize, after, signal }));
    files.push(...page.data.filter(isUploaded).map(({ id }) => ({ id })));
    if (!page.has_more || page.last_id === null) return files;
    after = page.last_id;
  }
}

const deleteFile = ({ id }: Removed, signal: AbortSignal): Promise<void> =>
  unlessGone(withKey(() => api.deleteFile(id, { signal }), signal));

/** Ignores a 404: somebody else has removed it already. */
async function unlessGone(removal: Promise<void>): Promise<void> {
  await removal.catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  });
}
