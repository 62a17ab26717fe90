/** Files that are dropped anywhere on the page go to the collection that is shown. */
import { signal } from "@preact/signals";
import { openTab } from "../tabs.ts";
import { access, loadCollections } from "./collections.ts";
import { filesOf } from "./dropped-files.ts";
import { giveFiles } from "./uploads.ts";

/** Whether files are being held over the page. */
export const isDragging = signal(false);
/** What of a drop was not taken, and why. */
export const dropNote = signal<string | undefined>(undefined);

const holdsFiles = ({ dataTransfer }: DragEvent): boolean =>
  dataTransfer?.types.includes("Files") ?? false;

async function take({ dataTransfer }: DragEvent): Promise<void> {
  const items = [...(dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  // Both are asked before the first pause: the browser forgets what was dropped.
  const entries = items.map((item) => item.webkitGetAsEntry());
  const plain = items.map((item) => item.getAsFile());
  const folders = entries.filter((entry) => entry?.isDirectory === true);
  const files = plain.filter((file, at) => file !== null && entries[at]?.isDirectory !== true);
  openTab("documents");
  dropNote.value = undefined;
  if (access.value.state !== "open") await loadCollections({ asks: true });
  const inside = await filesInside(folders.filter((entry) => entry !== null));
  giveFiles([...files.filter((file) => file !== null), ...inside]);
}

async function filesInside(folders: readonly FileSystemEntry[]): Promise<File[]> {
  try {
    const { files, areMore } = await filesOf(folders);
    if (areMore) {
      dropNote.value = `Only the first ${files.length} files were taken: drop the rest folder by folder, or use 'paddock ingest' on the node's machine.`;
    } else if (folders.length > 0 && files.length === 0) {
      dropNote.value = "There are no files in what was dropped.";
    }
    return files;
  } catch {
    dropNote.value = "The browser could not read the folder: select its files, and drop those.";
    return [];
  }
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
