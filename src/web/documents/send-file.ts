/** Sends one file by XMLHttpRequest, the browser's one way to tell how far an upload is. */
import { json } from "../../client/api-client.ts";
import { ApiError, statusError } from "../../client/api-error.ts";
import type { FileObject } from "../../client/wire.ts";
import { key } from "../key.ts";
import { sentName } from "./file-check.ts";

export interface SendOptions {
  signal: AbortSignal;
  /** Told how many bytes are sent, from time to time. */
  onProgress: (bytes: number) => void;
}

export async function sendFile(
  file: File,
  { signal, onProgress }: SendOptions,
): Promise<FileObject> {
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
