/** Fetches models from a hub or an address with node-llama-cpp's downloader. */
import { resolveModelFile } from "node-llama-cpp";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Progress, ProgressStep } from "../core/progress.ts";

/** Returns the model's path; a model that was fetched before is not fetched again. */
export async function downloadModel(
  source: string,
  folder: string,
  progress: Progress,
): Promise<string> {
  let step: ProgressStep | undefined;
  try {
    const path = await resolveModelFile(source, {
      directory: folder,
      cli: false,
      onProgress: ({ totalSize, downloadedSize }) => {
        step ??= progress.step(`Downloading ${source}`, totalSize, "bytes");
        step.update(downloadedSize);
      },
    });
    step?.finish();
    return path;
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The model '${source}' cannot be downloaded: ${reasonOf(cause)}. Check the reference and the network, or name a file that is on this machine.`,
      { cause },
    );
  }
}
