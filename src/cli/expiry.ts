/** When a key expires, as a person writes it. */
import { NodeError } from "../core/errors.ts";

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `2027-01-31`, `2027-01-31T12:00`, `90m`, `12h`, `30d`; always in the future. */
export function parseExpiry(text: string, now: Date): Date {
  const [, amount, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const date =
    amount === undefined
      ? new Date(/^\d{4}-\d{2}-\d{2}/.test(text) ? text : "")
      : new Date(now.getTime() + Number(amount) * (units[unit] ?? 0));
  if (date > now) return date;
  const why = Number.isNaN(date.getTime()) ? "is no time" : "is past";
  throw new NodeError(
    "invalid_request",
    `'${text}' ${why}. Give a date to come, such as ${new Date(now.getTime() + 31_536_000_000).toISOString().slice(0, 10)}, or a time from now, such as 12h or 30d.`,
  );
}
