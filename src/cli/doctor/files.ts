/** Checks the data dir (writable, room, permissions), the uploads and the clock. */
import { constants, existsSync } from "node:fs";
import { access, readdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { byteSize } from "../../core/byte-size.ts";
import { starterChat } from "../../models/starter-models.ts";
import { inspectDocuments } from "../../node/documents/node-documents.ts";
import { openRightsOf } from "../../node/node-settings.ts";
import { documentsFile } from "../../store/documents/sqlite-documents.ts";
import { keysFile } from "../../store/keys/sqlite-keys.ts";
import { type Finding, type Installation, note, ok, problem } from "./finding.ts";

export async function checkDataDir({ dataDir, config }: Installation): Promise<Finding> {
  const place = nearestFolder(dataDir);
  const isThere = place === dataDir;
  const found = await stat(place);
  if (!found.isDirectory()) {
    return problem(`${place} is not a folder.`, "Set data_dir to a folder, or move the file.");
  }
  try {
    await access(place, constants.W_OK | constants.X_OK);
  } catch {
    return problem(
      `This user may not write into ${place}.`,
      `Give the node's user the folder (chown), or set data_dir to another.`,
    );
  }
  if (!isThere) return ok(`${config.data_dir} is made at the first start, in ${place}.`);
  const rights = openRightsOf(dataDir);
  return rights === undefined
    ? ok(`${dataDir} can be written, and entered by its owner only.`)
    : note(
        `Others on this machine can enter ${dataDir} (its rights are ${rights}).`,
        `Unless it is shared on purpose: chmod 700 ${dataDir}`,
      );
}

export async function checkKeysFile({ dataDir }: Installation): Promise<Finding> {
  const path = join(dataDir, keysFile);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return ok("No key was given out.");
  const others = found.mode & 0o077;
  return others === 0
    ? ok(`${keysFile} can be read by its owner only.`)
    : problem(`Others than its owner can read or write ${path}.`, `chmod 600 ${path}*`);
}

export async function checkDocuments({ dataDir }: Pick<Installation, "dataDir">): Promise<Finding> {
  const { stored, orphaned, known } = await inspectDocuments(dataDir);
  const path = join(dataDir, documentsFile);
  const restore = `Restore ${path} from a backup`;
  const recover = "stop the node and run 'paddock documents recover'";
  if (known instanceof Error) {
    const message = `${path}, which says what was uploaded, cannot be read: ${known.message}.`;
    return problem(message, `${restore}, or move it away, ${recover}.`);
  }
  if (known === undefined && stored > 0) {
    const message = `There are ${stored} uploads in ${dataDir}, and no ${documentsFile} that knows them.`;
    return problem(message, `${restore}, or ${recover}.`);
  }
  if (orphaned > 0) {
    const message = `${orphaned} uploads that ${documentsFile} does not know are in files/orphaned of ${dataDir}.`;
    return note(message, `${restore}, or ${recover}; or delete them.`);
  }
  return ok(`${known ?? 0} uploads are known, and none is lost.`);
}

/** The starter chat model's file and its quantized copy: 1.5 GB together. */
const starterRoom = 1.5e9;
const leastRoom = 200e6;

export async function checkDisk({ dataDir, config }: Installation): Promise<Finding> {
  const place = nearestFolder(dataDir);
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const makesStarter =
    config.models.some(({ source }) => source === "starter:chat") &&
    !existsSync(join(dataDir, "models", starterChat.file));
  const wanted = makesStarter ? starterRoom : leastRoom;
  const words = `${byteSize(free)} are free in ${place}`;
  return free >= wanted
    ? ok(`${words}.`)
    : problem(
        `${words}, and ${byteSize(wanted)} are needed.`,
        "Make room, or set data_dir to a larger disk.",
      );
}

/** About when this program was written: an earlier clock is wrong. */
const notBefore = Date.UTC(2026, 0, 1);
const mostAheadMs = 5 * 60_000;

export async function checkClock({ dataDir }: Installation): Promise<Finding> {
  const now = Date.now();
  const words = `It is ${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const remedy = "Set the clock: keys end by it, and certificates are judged by it.";
  if (now < notBefore) return problem(`${words}, which is past.`, remedy);
  const names = await readdir(dataDir).catch(() => []);
  const files = await Promise.all(
    names.map((name) => stat(join(dataDir, name)).catch(() => undefined)),
  );
  const latest = Math.max(0, ...files.map((file) => file?.mtimeMs ?? 0));
  return latest > now + mostAheadMs
    ? note(`${words}, but files of the data dir are from later.`, remedy)
    : ok(`${words}.`);
}

/** The folder itself, or its nearest existing parent. */
function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
