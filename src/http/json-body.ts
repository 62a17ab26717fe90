/** Reads a request's JSON body, whole or refused: right type, right size, in time, valid against its schema. */
import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { NodeError } from "../core/errors.ts";
import { deepestNesting, isTooDeep } from "../validation/nesting.ts";
import { findViolation, formatPath, type Violation } from "../validation/violation.ts";

export type BodyReader<Schema extends TSchema> = (request: Request) => Promise<Static<Schema>>;

export interface BodyLimits {
  maxBodyBytes: number;
  /** How long it may take to arrive. */
  bodyTimeoutMs: number;
}

export function bodyReader<Schema extends TSchema>(
  schema: Schema,
  limits: BodyLimits,
): BodyReader<Schema> {
  const checker = TypeCompiler.Compile(schema);
  return async (request) => validate(checker, schema, parse(await readText(request, limits)));
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

async function readText(request: Request, limits: BodyLimits): Promise<string> {
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
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid UTF-8.", { cause });
  }
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

function parse(text: string): unknown {
  if (text.trim() === "") {
    throw new NodeError("invalid_request", "The body is empty; a JSON object is needed.");
  }
  const value = parseJson(text);
  if (isTooDeep(value)) throw tooDeep(value);
  return value;
}

function tooDeep(body: unknown): NodeError {
  const [param] = Object.entries(Object(body)).find(([, field]) => isTooDeep([field])) ?? [];
  const what = param === undefined ? "The body" : `'${param}'`;
  return new NodeError(
    "invalid_request",
    `${what} is nested too deep: a body may have ${deepestNesting} levels.`,
    param === undefined ? {} : { param },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid JSON.", { cause });
  }
}
