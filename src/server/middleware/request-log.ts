/** Request logging: the request's id, the access log, and the optional prompt log. */
import type { Log, LogFields } from "../../core/log.ts";
import type { RequestRecord, Telemetry } from "../../core/ports/telemetry.ts";
import type { RequestContext } from "../request-context.ts";

export const requestIdHeader = "x-request-id";

const usable = /^[A-Za-z0-9._-]{1,128}$/;

/** The id of an answer and its log lines: the caller's own, if it sent a valid one. */
export function requestId(request: Request): string {
  const offered = request.headers.get(requestIdHeader);
  return offered !== null && usable.test(offered) ? offered : `req_${crypto.randomUUID()}`;
}

export interface Observers {
  telemetry: Pick<Telemetry, "worked" | "requestEnded">;
  log: Log;
}

/** Reports a request to metrics, traces and the access log when it, or its stream, has ended. */
export function observe(context: RequestContext, { telemetry, log }: Observers): void {
  void context.ended.then((record) => {
    log.info("request", accessLogFields(record));
    telemetry.requestEnded(record);
  });
}

function accessLogFields(record: RequestRecord): LogFields {
  const { tokens } = record;
  const fields = {
    id: record.id,
    key: record.caller,
    operation: record.operation,
    method: record.method,
    path: record.path,
    model: record.model,
    status: record.status,
    outcome: record.outcome,
    prompt_tokens: tokens?.prompt,
    cached_tokens: tokens?.cached,
    completion_tokens: tokens?.completion,
    queue_ms: rounded(record.queueMs),
    retrieval_ms: rounded(record.retrievalMs),
    first_token_ms: rounded(record.firstTokenMs),
    total_ms: rounded(record.to - record.from),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const rounded = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.round(ms * 10) / 10;

const longestKey = 128;
/** Most characters and values of a line: writing it blocks everything else. */
const most = { characters: 65_536, values: 1024 };

/** An image in base64: it would fill the line, and tell nobody anything. */
const encoded = /^(data:[^,]{0,128},)?[A-Za-z0-9+/=]{512}/;
const shownOfEncoded = 64;

/** A line of the prompt log, which the operator enabled. */
export function logPrompt(log: Log, message: "a prompt" | "an answer", id: string, fields: object) {
  const left = { ...most };
  const shown = Object.entries(fields).map(([name, value]) => [name, shorten(value, left)]);
  log.info(message, { id, ...Object.fromEntries(shown) });
}

/** The value as far as there is room, with a note in place of what is left out. */
function shorten(value: unknown, left: { characters: number; values: number }): unknown {
  left.values--;
  if (typeof value === "string") {
    const most = encoded.test(value) ? shownOfEncoded : Number.POSITIVE_INFINITY;
    const shown = value.slice(0, Math.min(most, left.characters));
    left.characters -= shown.length;
    return shown === value ? value : `${shown}… (${value.length - shown.length} characters more)`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).slice(0, Math.max(0, left.values));
    return Object.fromEntries(
      entries.map(([key, part]) => [key.slice(0, longestKey), shorten(part, left)]),
    );
  }
  const items: unknown[] = [];
  for (const item of value) {
    if (left.values <= 0 || left.characters <= 0) {
      items.push(`… (${value.length - items.length} more)`);
      break;
    }
    items.push(shorten(item, left));
  }
  return items;
}
