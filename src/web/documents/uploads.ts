/** The page's uploads: what each step asks of the node, and what is said of it. */
import { ApiError } from "../../client/api-error.ts";
import { announce } from "../announce.ts";
import { withKey } from "../client.ts";
import { failureOf } from "../failure.ts";
import { openTab } from "../tabs.ts";
import { documents, maxFileBytes, nameOf, shown } from "./collections.ts";
import { refusalOf } from "./file-check.ts";
import { refreshShown } from "./listing.ts";
import { sendFile } from "./send-file.ts";
import { counted } from "./size-text.ts";
import { type UploadFailure, UploadQueue } from "./upload-queue.ts";

export const queue = new UploadQueue({
  refusalOf: (file) => refusalOf(file, maxFileBytes.value),
  send: (file, options) => withKey(() => sendFile(file, options), options.signal),
  add: (store, sent, signal) => withKey(() => documents.addFile(store, sent, { signal }), signal),
  discard: (sent) => void documents.deleteFile(sent.id).catch(() => {}),
  failureOf: uploadFailure,
  onAdded: ({ store }) => {
    if (shown.value?.id === store) void refreshShown(store);
  },
  onRest: (added, failed) => {
    const [first] = failed;
    const of = first === undefined ? "" : ` ${first.file.name}: ${first.failure?.message ?? ""}`;
    announce(`${counted(added, "file")} uploaded, ${failed.length} not.${of}`);
  },
});

/** What another attempt with the same file cannot change. */
const ofTheFile: readonly number[] = [400, 413, 415];

async function uploadFailure(error: unknown): Promise<UploadFailure> {
  const isStatus = error instanceof ApiError && error.kind === "status";
  if (isStatus) {
    const canRetry = !ofTheFile.includes(error.status ?? 0);
    return { message: failureOf(error).message, canRetry };
  }
  const isBroken = error instanceof ApiError && error.kind === "unreachable";
  if (!isBroken) return failureOf(error);
  // A node that refuses early closes the connection, and the browser may not see why.
  const reason = await documents.maxFileBytes().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const message =
    reason === undefined
      ? "The connection to the node broke off during the upload. Nothing of the file was kept."
      : failureOf(reason).message;
  return { message, canRetry: true };
}

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
