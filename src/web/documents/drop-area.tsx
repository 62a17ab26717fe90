/** Uploads chosen files, or files dropped anywhere on the page, to the collection shown; images go to a chat that reads them. */
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { byteSize } from "../../core/byte-size.ts";
import { takeImages } from "../chat/images.tsx";
import { Button } from "../components/controls.tsx";
import { openTab, tab } from "../frame.ts";
import { isOpen, loadCollections, maxFileBytes, nameOf, shown } from "./collections.ts";
import { giveFiles } from "./upload-list.tsx";

export function DropArea() {
  const field = useRef<HTMLInputElement>(null);
  const store = shown.value;
  const most = maxFileBytes.value;
  return (
    <div class={`drop-area${isDragging.value ? " dragging" : ""}`}>
      <p>
        Drop files or folders here to add them to “
        <bdi>{store === undefined ? "" : nameOf(store)}</bdi>”, or
      </p>
      <Button label="Choose files" class="primary" onClick={() => field.current?.click()} />
      <input
        ref={field}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          giveFiles([...(currentTarget.files ?? [])]);
          // So that the same file can be chosen again.
          currentTarget.value = "";
        }}
      />
      <p class="note">
        PDF, Word, PowerPoint, Excel, EPUB, e-mail, HTML, Markdown, text, CSV, JSON and source code
        {most !== undefined && `, at most ${byteSize(most)} each`}
      </p>
      {dropNote.value !== undefined && <p role="alert">{dropNote.value}</p>}
    </div>
  );
}

const isDragging = signal(false);
/** Which dropped files were not accepted, and why. */
const dropNote = signal<string | undefined>(undefined);

const holdsFiles = ({ dataTransfer }: DragEvent): boolean =>
  dataTransfer?.types.includes("Files") ?? false;

async function take({ dataTransfer }: DragEvent): Promise<void> {
  const items = [...(dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  // Both are read before the first await, after which the browser forgets the drop.
  const dropped = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const folders = dropped.flatMap(({ entry }) => (entry?.isDirectory ? [entry] : []));
  const files = dropped.flatMap(({ entry, file }) => (!file || entry?.isDirectory ? [] : [file]));
  if (tab.value === "chat" && folders.length === 0 && takeImages(files)) return;
  openTab("documents");
  dropNote.value = undefined;
  if (!isOpen.value) await loadCollections({ asks: true });
  giveFiles([...files, ...(await filesInside(folders))]);
}

async function filesInside(folders: readonly FileSystemEntry[]): Promise<File[]> {
  try {
    const files = await filesOf(folders);
    if (files.length > mostFiles) {
      dropNote.value = `Only the first ${mostFiles} files were taken: drop the rest folder by folder, or use 'paddock ingest' on the node's machine.`;
    } else if (folders.length > 0 && files.length === 0) {
      dropNote.value = "There are no files in what was dropped.";
    }
    return files.slice(0, mostFiles);
  } catch {
    dropNote.value = "The browser could not read the folder: select its files, and drop those.";
    return [];
  }
}

export function takeDroppedFiles(): void {
  addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    // Otherwise the browser would open the file instead of the page.
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

/** Per drop: a folder with more files is probably the wrong one. */
const mostFiles = 1000;

/** Skips hidden files and folders; stops after one file more than is accepted. */
async function filesOf(entries: readonly FileSystemEntry[]): Promise<File[]> {
  const files: File[] = [];
  const waiting = [...entries];
  for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
    if (files.length > mostFiles) break;
    if (isFile(entry)) files.push(await fileOf(entry));
    else if (isFolder(entry)) waiting.push(...(await visibleIn(entry)));
  }
  return files;
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

async function visibleIn(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  // Browsers return about a hundred entries at a time, and none at the end.
  for (;;) {
    const more = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (more.length === 0 || entries.length > mostFiles) break;
    entries.push(...more);
  }
  return entries
    .filter(({ name }) => !name.startsWith("."))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}
