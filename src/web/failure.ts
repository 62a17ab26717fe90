/** What went wrong, as a sentence for a person. */

export class Failure extends Error {
  constructor(
    message: string,
    /** Whether asking again may help. */
    readonly canRetry: boolean,
    /** The status of the node's answer; 0 where there was none. */
    readonly status = 0,
  ) {
    super(message);
  }
}

export const unreachable = (): Failure =>
  new Failure(
    "The node cannot be reached. Check that it is running and that you are connected, then retry.",
    true,
  );

export const brokenOff = (): Failure =>
  new Failure("The answer broke off before its end: the connection to the node was lost.", true);

/** The failure that an answer other than 2xx stands for. */
export async function toFailure(response: Response): Promise<Failure> {
  const { status, headers } = response;
  const { message = `The node answered with status ${status}.`, code } = await errorOf(response);
  const wait = waitOf(headers.get("retry-after"));
  const fail = (text: string, canRetry: boolean) => new Failure(text, canRetry, status);
  if (status === 401) return fail(message, true);
  // The node's other reasons are no fault of a key's.
  if (status === 403 && (code === "unknown_host" || code === "keys_required")) {
    return fail(message, false);
  }
  if (status === 403) return fail(`Your key does not allow this. ${message}`, false);
  if (status === 429) return fail(`That was too much at once. Wait ${wait}, then retry.`, true);
  if (status === 503 && code === "queue_full") {
    return fail(`The node is busy: too many requests wait already. Retry in ${wait}.`, true);
  }
  if (status === 503) return fail(`The node is not ready for this. ${message}`, true);
  return fail(message, status >= 500 && headers.get("x-should-retry") !== "false");
}

/** Any thrown value as a failure. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure(`The page failed: ${error instanceof Error ? error.message : error}`, true);
}

async function errorOf(response: Response): Promise<{ message?: string; code?: string }> {
  try {
    const { error = {} } = JSON.parse(await response.text());
    return error;
  } catch {
    // Not the node, but something between: its words are not for people.
    return {};
  }
}

function waitOf(header: string | null): string {
  const seconds = Number(header);
  if (header === null || !Number.isFinite(seconds)) return "a moment";
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
