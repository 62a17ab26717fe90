/** Files that are dropped anywhere on the page go to the collection that is shown. */
import { signal } from "@preact/signals";
import { openTab } from "../tabs.ts";
import { access, loadCollections } from "./collections.ts";
import { giveFiles } from "./uploads.ts";

/** Whether files are being held over the page. */
export const isDragging = signal(false);
/** What was dropped and is no file. */
export const dropNote = signal<string | undefined>(undefined);

const holdsFiles = ({ dataTransfer }: DragEvent): boolean =>
  dataTransfer?.types.includes("Files") ?? false;

async function take({ dataTransfer }: DragEvent): Promise<void> {
  const items = [...(dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  // Both must be asked before the first pause: the browser forgets what was dropped.
  const folders = items.filter((item) => item.webkitGetAsEntry()?.isDirectory === true);
  const files = items
    .filter((item) => !folders.includes(item))
    .map((item) => item.getAsFile())
    .filter((file) => file !== null);
  openTab("documents");
  dropNote.value =
    folders.length === 0
      ? undefined
      : "A folder cannot be uploaded as one: open it, select its files, and drop those.";
  if (access.value.state !== "open") await loadCollections({ asks: true });
  giveFiles(files);
}

export function takeDroppedFiles(): void {
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    // Without this the browser would leave the page for the file.
    event.preventDefault();
    isDragging.value = true;
  });
  addEventListener("dragleave", ({ relatedTarget }) => {
    if (relatedTarget === null) isDragging.value = false;
  });
  addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    isDragging.value = false;
    void take(event);
  });
}
