/** Translates error responses of upstream servers into errors for the caller. */
import { type SentError, sentError } from "../../client/api-error.ts";
import {
  type ErrorKind,
  NodeError,
  type NodeErrorDetails,
  type Subject,
} from "../../core/errors.ts";
import { given } from "../../core/given.ts";

export interface AnsweredStatus {
  status: number;
  /** The parsed body; undefined if it is not JSON. */
  body: unknown;
  retryAfter?: string | undefined;
}

/** `named`: `the model 'x'`. `field`: the one that holds the texts, for errors about length. */
export interface Refused {
  named: string;
  /** The node's own, which a server may repeat. */
  key?: string | undefined;
  field: "messages" | "input" | "documents" | "prompt";
}

export function toRefusal(answered: AnsweredStatus, { named, field, key }: Refused): NodeError {
  const { status, body, retryAfter } = answered;
  const sent = sentError(body);
  const server = `The server of ${named}`;
  const ours = isUnknownModel(status, sent) ? unknownModel : ownFault(status);
  if (ours !== undefined) {
    const remedy = "The node's operator can correct it; the log says more.";
    return new NodeError("upstream_refused", `${server} ${ours}. ${remedy}`);
  }
  if (status === 400 || status === 413 || status === 422) {
    const param = sent?.param === undefined ? undefined : withoutSecrets(sent.param, key);
    const told =
      sent === undefined ? `${server} refuses the request.` : withoutSecrets(sent.message, key);
    if (isTooLong(sent)) {
      const about = aboutField(param ?? field, field);
      return new NodeError("context_length_exceeded", told, about);
    }
    if (status === 413) {
      const tooLarge = `The request is too large for the server of ${named}.`;
      return new NodeError("payload_too_large", tooLarge);
    }
    return new NodeError("invalid_request", told, aboutField(param, field));
  }
  const isCode = (code: string | undefined): boolean =>
    code === undefined || sent?.words.includes(code) === true;
  const [, kind, what] = later.find(([of, , , code]) => of === status && isCode(code)) ?? [];
  if (kind === undefined) {
    return new NodeError("upstream_failed", `${server} failed (status ${status}).`);
  }
  const retryAfterMs = toMilliseconds(retryAfter);
  return new NodeError(kind, `${server} ${what}.`, given({ retryAfterMs }));
}

/** Refusals that pass, the codes of a Paddock node first. */
const later: readonly (readonly [status: number, ErrorKind, what: string, code?: string])[] = [
  [429, "too_many_requests", "is asked for more than it allows. Try again later"],
  [503, "overloaded", "is busy. Try again later", "queue_full"],
  [503, "model_not_ready", "is not ready. Try again later", "model_not_ready"],
  [503, "unavailable", "is not ready. Try again later"],
  [504, "timeout", "took too long"],
];

const unknownModel = "does not know a model of the name that it is asked for";

/** An error between this node and the server: never the caller's key or address. */
function ownFault(status: number): string | undefined {
  if (status === 401) return "does not accept this node's key for it";
  if (status === 403) return "does not let this node's key ask for it";
  if (status === 404 || status === 405) return "does not have what the node asks it for";
  if (status === 501) return "is not set up for what the node asks it for";
  if (status >= 300 && status < 400) return "answers with a redirect, which is not followed";
  return undefined;
}

/** Paddock nodes report it with status 500, others with 404. */
const isUnknownModel = (status: number, sent: SentError | undefined): boolean =>
  sent !== undefined &&
  (sent.words.includes("model_not_found") ||
    (status === 404 && /model/i.test(sent.message) && /not (exist|found)/i.test(sent.message)));

const isTooLong = (sent: SentError | undefined): boolean =>
  sent !== undefined &&
  (sent.words.some((word) => /context_length|exceed_context/.test(word)) ||
    /context (length|size)|must have less than \d+ tokens|maximum (input|model) length|too many tokens/i.test(
      sent.message,
    ));

/** Paths and stacks on the server, and keys, which may be the node's, are hidden from callers. */
const withoutSecrets = (message: string, key = ""): string =>
  [...stacks, ...files, ...keys, ...(key.length < leastSecret ? [] : [key])].reduce<string>(
    (text, secret) => text.replaceAll(secret, "…"),
    message,
  );

/** Servers without keys are given any letter for one. */
const leastSecret = 8;

/** As providers begin them, with a digit in the rest, and whatever a scheme of authentication is followed by. */
const keys: readonly RegExp[] = [
  /(?<![\w-])(?:sk|pk|hf|key|token)[-_](?=[\w-]*\d)[\w-]{8,}/gi,
  /(?<![\w-])hf_\w{8,}/g,
  /(?<=\bBearer )[\w.~+/=-]{8,}/gi,
];

/** Of Python, of JavaScript, of Java, of Go and of Rust. */
const stacks: readonly RegExp[] = [
  /Traceback \(most recent call last\)[\s\S]*$/g,
  /\n[ \t]+at [^\n]*:\d+:\d+[\s\S]*$/g,
  /\n[ \t]+at [\w.$/@<>]+\([^\s()]+(?::\d+| (?:Method|Source))\)[\s\S]*$/g,
  /\ngoroutine \d+ \[[\s\S]*$/g,
  /\nstack backtrace:\n[\s\S]*$/g,
];

const letter = "\\p{L}\\p{N}_.";
const step = `[${letter}@+%-]+`;
const kinds = "(?:py|c|cc|cpp|cu|h|hpp|rs|go|js|ts|so|gguf|bin|safetensors)";
/** Neither the end of a word nor in an address, a tag or another path. */
const begins = `(?<![${letter}#/<])~?`;

/** Absolute paths, files of known kinds at the root or at home, Windows paths, paths that begin with dots, and relative paths of source files. */
const files: readonly RegExp[] = [
  new RegExp(`(?:file://|${begins})(?:/|(?<!:)/{2,})${step}(?:/+${step})+/?`, "gu"),
  new RegExp(`${begins}/[${letter}-]+\\.${kinds}\\b`, "gu"),
  /(?:\b[A-Za-z]:\\|\\\\)[^\s"',;)]+/g,
  new RegExp(`(?<![${letter}/-])\\.{1,2}(?:/+${step})+/?`, "gu"),
  new RegExp(`(?<![${letter}/-])(?:[${letter}-]+/)+[${letter}-]+\\.${kinds}\\b`, "gu"),
];

/** Fields that have another name in this node. */
const ourNames = new Map([["repetition_penalty", "repeat_penalty"]]);

/** Fields of the OpenAI API's chat that have another name in each API of this node. */
const chatFields: readonly [RegExp, Subject["part"]][] = [
  [/^messages(?:\[(\d{1,9})\])?(.*)$/, "messages"],
  [/^prompt()()$/, "prompt"],
  [/^tools\[(\d{1,9})\]\.function\.parameters(.*)$/, "tools"],
  [/^response_format\.json_schema\.schema()(.*)$/, "schema"],
  [/^response_format()(.*)$/, "format"],
  [/^max_(?:completion_)?tokens()()$/, "max tokens"],
];

function aboutField(param: string | undefined, field: Refused["field"]): NodeErrorDetails {
  if (param === undefined) return {};
  if (field !== "messages" && field !== "prompt") return { param: ourNames.get(param) ?? param };
  for (const [pattern, part] of chatFields) {
    const [found, at, inside] = pattern.exec(param) ?? [];
    if (found === undefined) continue;
    return {
      subject: { part, ...(at ? { at: Number(at) } : {}), ...(inside ? { inside } : {}) },
    };
  }
  return { param: ourNames.get(param) ?? param };
}

/** `Retry-After` is in seconds, or a date. */
function toMilliseconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  const ms = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestRetryMs);
}

const longestRetryMs = 60 * 60 * 1000;

/** The status of an error in a stream, which is identified by a code or type. */
export function statusOf(sent: SentError | undefined): number {
  if (sent?.status !== undefined) return sent.status;
  const known = sent?.words
    .map((word) => statuses.get(word))
    .find((status) => status !== undefined);
  return known ?? 500;
}

const statuses: ReadonlyMap<string, number> = new Map([
  ["context_length_exceeded", 400],
  ["invalid_request_error", 400],
  ["BadRequestError", 400],
  ["rate_limit_exceeded", 429],
  ["model_not_found", 404],
  ["model_not_ready", 503],
  ["queue_full", 503],
  ["unavailable", 503],
  ["unavailable_error", 503],
  ["request_timeout", 504],
]);
