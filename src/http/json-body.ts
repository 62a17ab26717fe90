/** Reads a request's JSON body, whole or refused: right type, right size, valid against its schema. */
import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { NodeError } from "../core/errors.ts";
import { findViolation, formatPath, type Violation } from "../validation/violation.ts";

export type BodyReader<Schema extends TSchema> = (request: Request) => Promise<Static<Schema>>;

export function bodyReader<Schema extends TSchema>(
  schema: Schema,
  maxBytes: number,
): BodyReader<Schema> {
  const checker = TypeCompiler.Compile(schema);
  return async (request) => validate(checker, schema, parse(await readText(request, maxBytes)));
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

async function readText(request: Request, maxBytes: number): Promise<string> {
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
  for await (const chunk of request.body ?? []) {
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

function parse(text: string): unknown {
  if (text.trim() === "") {
    throw new NodeError("invalid_request", "The body is empty; a JSON object is needed.");
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid JSON.", { cause });
  }
}
