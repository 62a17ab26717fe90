/** Refuses messages of more parts than any tool takes: the protocol's library looks at each, on the loop. */
import { NodeError } from "../../../core/errors.ts";

/** Filters of the largest size have 16,384 values and some hundred fields. */
const most = { values: 20_000, fields: 2_000 };

export function checkMessageSize(message: unknown): void {
  const left = { ...most };
  const waiting = [message];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null) continue;
    const parts: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    left.values -= parts.length;
    if (parts !== next) left.fields -= parts.length;
    if (left.values < 0 || left.fields < 0) {
      throw new NodeError(
        "invalid_request",
        `The message has more than the ${most.values} values or ${most.fields} fields that it may have.`,
      );
    }
    for (const part of parts) if (typeof part === "object") waiting.push(part);
  }
}
