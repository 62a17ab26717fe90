/** The access log: a request that has ended, as the fields of its one line. */
import type { LogFields } from "../../core/log.ts";
import type { RequestRecord } from "../../core/ports/telemetry.ts";

/** What is not known, or does not apply, is left out. */
export function accessLogFields(record: RequestRecord): LogFields {
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
