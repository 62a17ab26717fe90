/** Asks the node: sends the key, asks for one where it is missing, and turns what fails into a failure. */
import { Failure, toFailure, unreachable } from "./failure.ts";
import { askForKey, key } from "./key.ts";

export interface Question {
  /** Sent as JSON by POST; without it, a GET. */
  body?: unknown;
  signal?: AbortSignal;
}

/** For people, who send no headers; later reasons are the node's own. */
const firstReason = "Enter a key that it knows. Whoever runs the node can give you one.";

/** The node's answer of status 2xx; anything else is thrown as a Failure. */
export async function ask(path: string, question: Question = {}): Promise<Response> {
  for (;;) {
    const response = await send(path, question);
    if (response.ok) return response;
    const failure = await toFailure(response);
    if (failure.status !== 401) throw failure;
    const given = await askForKey(key.value === null ? firstReason : failure.message);
    question.signal?.throwIfAborted();
    if (!given) {
      throw new Failure("The node wants an API key. Retry, and give one.", true, failure.status);
    }
  }
}

/** The node's answer, whatever its status. */
export async function send(path: string, { body, signal }: Question = {}): Promise<Response> {
  const headers = new Headers();
  if (key.value !== null) headers.set("authorization", `Bearer ${key.value}`);
  if (body !== undefined) headers.set("content-type", "application/json");
  try {
    return await fetch(path, {
      headers,
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw unreachable();
  }
}
