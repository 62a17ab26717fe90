/** Reads a request's JSON body, whole or refused: right type, right size, in time, valid against its schema. */
import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";
import { findViolation, formatPath, type Violation } from "../../validation/violation.ts";
import { excessText, JsonSize } from "../json-size.ts";
import { checkLists, type ListBound } from "./list-length.ts";

export type BodyReader<Schema extends TSchema> = (request: Request) => Promise<Static<Schema>>;

export interface BodyLimits {
  maxBodyBytes: number;
  /** How long it may take to arrive. */
  bodyTimeoutMs: number;
}

/** `lists`: how long lists of the body may be, which is looked at before anything in them. */
export function bodyReader<Schema extends TSchema>(
  schema: Schema,
  limits: BodyLimits,
  lists: readonly ListBound[] = [],
): BodyReader<Schema> {
  const checker = TypeCompiler.Compile(schema);
  return async (request) => {
    const bytes = await readBytes(request, limits);
    await checkSize(bytes);
    const body = parse(bytes);
    checkLists(body, lists);
    return validate(checker, schema, body);
  };
}

function validate<Schema extends TSchema>(
  checker: TypeCheck<Schema>,
  schema: Schema,
  value: unknown,
): Static<Schema> {
  if (checker.Check(value)) return value;
  const violation = findViolation(schema, value);
  if (violation === undefined) throw new NodeError("internal", "A body failed without a reason.");
  throw new NodeError("invalid_request", messageOf(violation), {
    ...(violation.path.length > 0 ? { param: formatPath(violation.path) } : {}),
  });
}

function messageOf({ path, kind, expected, found, knownKeys }: Violation): string {
  if (path.length === 0) return `The body must be ${expected}; found ${found}.`;
  const name = `'${formatPath(path)}'`;
  if (kind === "missing") return `${name} is required: ${expected}.`;
  if (kind === "unknown" && knownKeys.length === 0) {
    return `${name} is not allowed; '${formatPath(path.slice(0, -1))}' must be ${expected}.`;
  }
  if (kind === "unknown") return `${name} is not known here. Known are: ${knownKeys.join(", ")}.`;
  return `${name} must be ${expected}; found ${found}.`;
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { maxBodyBytes: maxBytes } = limits;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new NodeError(
      "unsupported_media_type",
      `The body must be JSON, sent with 'Content-Type: application/json'; found ${type ? `'${type}'` : "no content type"}.`,
    );
  }
  const tooLarge = new NodeError(
    "payload_too_large",
    `The body is larger than the ${maxBytes} bytes that this node takes.`,
  );
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of inTime(request.body, limits.bodyTimeoutMs)) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What comes until the time is up, which is counted for the whole: a trickle is late too. */
async function* inTime(
  body: ReadableStream<Uint8Array> | null,
  ms: number,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(overdue(ms / 1000)), ms);
  // A body that came in time leaves nobody to hear of it.
  late.catch(() => {});
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // What is still to come is nobody's; after the end this does nothing.
    reader.cancel().catch(() => {});
  }
}

const overdue = (seconds: number): NodeError =>
  new NodeError(
    "body_timeout",
    `The body did not arrive within the ${seconds} s that this node waits for it (limits.body_timeout).`,
  );

/** Refuses what is small in bytes and large in everything else, before any of it is built. */
async function checkSize(bytes: Uint8Array): Promise<void> {
  const excess = await new JsonSize().addInSlices(bytes);
  if (excess === undefined) return;
  const { what, field } = excess;
  throw new NodeError(
    "invalid_request",
    `${field === undefined ? "The body" : quoted(field)} ${excessText[what]}.`,
    field === undefined ? {} : { param: field },
  );
}

function parse(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  if (text.trim() === "") {
    throw new NodeError("invalid_request", "The body is empty; a JSON object is needed.");
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid JSON.", { cause });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid UTF-8.", { cause });
  }
}
