/** Finds a model that was fetched before, and fetches nothing. */
import { resolveModelFile } from "node-llama-cpp";

/** The model's path; undefined where it is not on this machine. */
export async function findDownload(source: string, folder: string): Promise<string | undefined> {
  return await resolveModelFile(source, {
    directory: folder,
    download: false,
    cli: false,
    signal: AbortSignal.timeout(lookMs),
  }).catch(() => undefined);
}

/** A hub may have to say which file is meant; one that is away does not hold up the rest. */
const lookMs = 5000;
