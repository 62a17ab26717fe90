/** The page's uploads: the queue, how files are sent, and the list with progress and failures. */
import { json } from "../../client/api-client.ts";
import { ApiError, statusError } from "../../client/api-error.ts";
import type { FileObject } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { announce } from "../browser.ts";
import { api, key, withKey } from "../client.ts";
import { Button } from "../components/controls.tsx";
import { Failure, failureOf } from "../failure.ts";
import { openTab } from "../frame.ts";
import { maxFileBytes, nameOf, shown } from "./collections.ts";
import { isIngesting, refreshShown } from "./document-list.tsx";
import {
  counted,
  refusalOf,
  sentName,
  type Upload,
  type UploadFailure,
  UploadQueue,
} from "./upload-queue.ts";

/** More rows than this are counted, not shown. */
const mostRows = 20;

export function UploadList() {
  const active = queue.active.value;
  const failed = queue.failed.value;
  if (active.length + failed.length === 0) return null;
  const onTheirWay = active.filter(({ state }) => state !== "waiting");
  const waiting = active.length - onTheirWay.length;
  const retriable = failed.filter(({ failure }) => failure?.canRetry === true);
  return (
    <section class="uploads" aria-label="Uploads">
      {active.length > 0 && (
        <div class="row between">
          <p class="note">
            {counted(active.length, "file")} on the way
            {waiting > 0 && `, ${waiting} of them waiting`}
          </p>
          {active.length > 1 && (
            <Button label="Cancel all" class="quiet" onClick={() => queue.drop(...active)} />
          )}
        </div>
      )}
      <ul>
        {onTheirWay.map((upload) => (
          <OnTheWay key={upload.id} upload={upload} />
        ))}
        {failed.slice(0, mostRows).map((upload) => (
          <Failed key={upload.id} upload={upload} />
        ))}
      </ul>
      {failed.length > mostRows && (
        <p class="note">and {failed.length - mostRows} more that could not be uploaded.</p>
      )}
      {failed.length > 1 && (
        <div class="row">
          {retriable.length > 1 && (
            <Button label="Try all again" onClick={() => queue.retry(...retriable)} />
          )}
          <Button label="Dismiss all" class="quiet" onClick={() => queue.drop(...failed)} />
        </div>
      )}
    </section>
  );
}

function OnTheWay({ upload }: { upload: Upload }) {
  const { file, state, sentBytes, storeName } = upload;
  const percent = file.size === 0 ? 100 : Math.floor((sentBytes / file.size) * 100);
  return (
    <li class="upload">
      <p class="name">
        <bdi>{file.name}</bdi> <span class="note">to {storeName}</span>
      </p>
      <progress max={100} value={percent} aria-label={`Upload of ${file.name}`} />
      <p class="note">
        {state === "adding" || percent === 100
          ? "Sent; the node is storing it"
          : `${percent} % of ${byteSize(file.size)}`}
      </p>
      <Button
        label="Cancel"
        class="quiet"
        onClick={() => queue.drop(upload)}
        about={`the upload of ${file.name}`}
      />
    </li>
  );
}

function Failed({ upload }: { upload: Upload }) {
  const { file, failure } = upload;
  return (
    <li class="upload failure">
      <p>
        <bdi class="name">{file.name}</bdi>
        <br />
        {failure?.message}
      </p>
      <span class="row">
        {failure?.canRetry === true && (
          <Button
            label="Try again"
            onClick={() => queue.retry(upload)}
            about={`to upload ${file.name}`}
          />
        )}
        <Button label="Dismiss" onClick={() => queue.drop(upload)} about={file.name} />
      </span>
    </li>
  );
}

const queue = new UploadQueue({
  refusalOf: (file) => refusalOf(file, maxFileBytes.value),
  send: (file, options) => withKey(() => sendOrTellWhy(file, options), options.signal),
  add: (store, sent, signal) => withKey(() => api.addFile(store, sent.id, { signal }), signal),
  discard: (sent) => void api.deleteFile(sent.id).catch(() => {}),
  failureOf: uploadFailure,
  onAdded: ({ store }) => {
    // While something is being ingested, polling refreshes the list.
    if (!isIngesting.value && shown.value?.id === store) void refreshShown();
  },
  onRest: (added, failed) => {
    if (added > 0) void refreshShown();
    const [first] = failed;
    const of = first === undefined ? "" : ` ${first.file.name}: ${first.failure?.message ?? ""}`;
    announce(`${counted(added, "file")} uploaded, ${failed.length} not.${of}`);
  },
});

/** Statuses that a retry with the same file cannot change. */
const ofTheFile: readonly number[] = [400, 413, 415];

function uploadFailure(error: unknown): UploadFailure {
  const { message, canRetry } = failureOf(error);
  if (!(error instanceof ApiError && error.kind === "status")) return { message, canRetry };
  return { message, canRetry: !ofTheFile.includes(error.status ?? 0) };
}

/** A node that refuses early closes the connection and hides why: a second request shows it. */
async function sendOrTellWhy(file: File, options: SendOptions): Promise<FileObject> {
  try {
    return await sendFile(file, options);
  } catch (error) {
    const isBroken = error instanceof ApiError && error.kind === "unreachable";
    if (!isBroken) throw error;
    await api.maxFileBytes({ signal: options.signal });
    throw new Failure(brokenOff, true);
  }
}

const brokenOff =
  "The connection to the node broke off during the upload, and nothing of the file was stored.";

export function giveFiles(files: readonly File[]): void {
  const store = shown.value;
  if (store === undefined || files.length === 0) return;
  queue.give(files, { id: store.id, name: nameOf(store) });
  openTab("documents");
}

// Leaving the page would cancel the uploads.
addEventListener("beforeunload", (event) => {
  if (queue.active.value.length > 0) event.preventDefault();
});

interface SendOptions {
  signal: AbortSignal;
  onProgress: (bytes: number) => void;
}

/** With XMLHttpRequest, the only browser API that reports upload progress. */
async function sendFile(file: File, { signal, onProgress }: SendOptions): Promise<FileObject> {
  const { promise, resolve, reject } = Promise.withResolvers<XMLHttpRequest>();
  const request = new XMLHttpRequest();
  request.open("POST", "/v1/files");
  if (key.value !== null) request.setRequestHeader("authorization", `Bearer ${key.value}`);
  request.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, file.size));
  request.onload = () => resolve(request);
  request.onerror = () => reject(new ApiError("unreachable", "The server cannot be reached."));
  request.onabort = () => reject(signal.reason);
  const abort = (): void => request.abort();
  signal.throwIfAborted();
  signal.addEventListener("abort", abort, { once: true });
  const form = new FormData();
  form.append("purpose", "assistants");
  form.append("file", file, sentName(file.name));
  request.send(form);
  try {
    return await answerOf(await promise);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function answerOf(request: XMLHttpRequest): Promise<FileObject> {
  const { status, responseText } = request;
  const headers = new Headers();
  for (const name of ["retry-after", "x-should-retry"]) {
    const value = request.getResponseHeader(name);
    if (value !== null) headers.set(name, value);
  }
  const response = new Response(responseText, { status, headers });
  if (!response.ok) throw await statusError(response);
  return await json(response);
}
