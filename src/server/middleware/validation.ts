/** A body as a request that is valid for its operation, or an error that names the field at fault. */
import type { TSchema } from "@sinclair/typebox";
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";
import { findViolation, formatPath, type Violation } from "../../validation/violation.ts";
import { excessText, JsonSize } from "../json-size.ts";
import type { AskedFor, Operation, ReadRequest } from "../operation.ts";
import { checkLists, type ListLimits } from "./list-length.ts";

/** `bytes`: the body; absent where the operation takes none. */
export async function readRequest<Services>(
  { facts, lists, read }: Pick<Operation<Services>, "facts" | "lists" | "read">,
  bytes: Uint8Array | undefined,
  asked: AskedFor,
  limits: ListLimits,
): Promise<ReadRequest<Services>> {
  const body = bytes === undefined ? undefined : await parsed(bytes);
  checkLists(body, lists, limits);
  const request = read(body, asked);
  if (request !== undefined) return request;
  throw invalid(facts.body?.schema, body);
}

/** Why a value breaks a schema, as an error that names the field. */
export function invalid(schema: TSchema | undefined, body: unknown): NodeError {
  const violation = schema === undefined ? undefined : findViolation(schema, body);
  if (violation === undefined) return new NodeError("internal", "A body failed without a reason.");
  return new NodeError("invalid_request", messageOf(violation), {
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

async function parsed(bytes: Uint8Array): Promise<unknown> {
  await checkSize(bytes);
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
