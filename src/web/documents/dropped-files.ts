/** The files of what was dropped, those of folders among them. */

export interface DroppedFiles {
  files: File[];
  /** Whether there were more in the folders than are taken at once. */
  areMore: boolean;
}

/** Of the folders of one drop: who drops more has dropped the wrong one. */
const mostFiles = 1000;

/**
 * Files that are hidden, and hidden folders, are left out. What was dropped must be asked for its
 * entries before the first pause: the browser forgets it then.
 */
export async function filesOf(entries: readonly FileSystemEntry[]): Promise<DroppedFiles> {
  const files: File[] = [];
  const waiting = [...entries];
  for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
    if (files.length === mostFiles) return { files, areMore: true };
    if (isFile(entry)) files.push(await fileOf(entry));
    else if (isFolder(entry)) waiting.push(...(await visibleIn(entry)));
  }
  return { files, areMore: false };
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

async function visibleIn(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  // A browser gives about a hundred at a time, and none at the end.
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
