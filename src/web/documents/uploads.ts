/** The page's uploads: what each step asks of the node, and what is said of it. */
import { ApiError } from "../../client/api-error.ts";
import type { FileObject } from "../../client/wire.ts";
import { announce } from "../announce.ts";
import { withKey } from "../client.ts";
import { Failure, failureOf } from "../failure.ts";
import { openTab } from "../tabs.ts";
import { documents, isTakingIn, maxFileBytes, nameOf, shown } from "./collections.ts";
import { refusalOf } from "./file-check.ts";
import { refreshShown } from "./listing.ts";
import { type SendOptions, sendFile } from "./send-file.ts";
import { counted } from "./size-text.ts";
import { type UploadFailure, UploadQueue } from "./upload-queue.ts";

export const queue = new UploadQueue({
  refusalOf: (file) => refusalOf(file, maxFileBytes.value),
  send: (file, options) => withKey(() => sendOrTellWhy(file, options), options.signal),
  add: (store, sent, signal) => withKey(() => documents.addFile(store, sent, { signal }), signal),
  discard: (sent) => void documents.deleteFile(sent.id).catch(() => {}),
  failureOf: uploadFailure,
  onAdded: ({ store }) => {
    // Once something is being taken in, it is looked after by itself.
    if (!isTakingIn.value && shown.value?.id === store) void refreshShown(store);
  },
  onRest: (added, failed) => {
    if (added > 0 && shown.value !== undefined) void refreshShown(shown.value.id);
    const [first] = failed;
    const of = first === undefined ? "" : ` ${first.file.name}: ${first.failure?.message ?? ""}`;
    announce(`${counted(added, "file")} uploaded, ${failed.length} not.${of}`);
  },
});

/** What another attempt with the same file cannot change. */
const ofTheFile: readonly number[] = [400, 413, 415];

function uploadFailure(error: unknown): UploadFailure {
  const { message, canRetry } = failureOf(error);
  if (!(error instanceof ApiError && error.kind === "status")) return { message, canRetry };
  return { message, canRetry: !ofTheFile.includes(error.status ?? 0) };
}

/** A node that refuses early closes the connection, and the browser may not see why: so it is asked again. */
async function sendOrTellWhy(file: File, options: SendOptions): Promise<FileObject> {
  try {
    return await sendFile(file, options);
  } catch (error) {
    const isBroken = error instanceof ApiError && error.kind === "unreachable";
    if (!isBroken) throw error;
    await documents.maxFileBytes({ signal: options.signal });
    throw new Failure(brokenOff, true);
  }
}

const brokenOff =
  "The connection to the node broke off during the upload, and nothing of the file was kept.";

/** Takes files for the collection that is shown. */
export function giveFiles(files: readonly File[]): void {
  const store = shown.value;
  if (store === undefined || files.length === 0) return;
  queue.give(files, { id: store.id, name: nameOf(store) });
  openTab("documents");
}

// Leaving the page would end what is on its way.
addEventListener("beforeunload", (event) => {
  if (queue.active.value.length > 0) event.preventDefault();
});
