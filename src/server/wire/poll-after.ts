/** Tells OpenAI's clients how soon to ask again for what is in progress; they would wait five seconds. */
import type { ResponseHeaders } from "../request-context.ts";

const header = "openai-poll-after-ms";
const pollMs = 250;

export function tellWhenToPoll(status: string, { headers }: { headers: ResponseHeaders }): void {
  if (status === "in_progress") headers[header] = pollMs;
}
