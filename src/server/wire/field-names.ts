/** Each API's field names for the parts of a request that domain errors are about. */
import { NodeError, type Subject } from "../../core/errors.ts";
import { given } from "../../core/given.ts";

/** The field of each part; `at`: its index, if the error is about one of several. */
export type FieldNames = Readonly<Record<Subject["part"], (at?: number) => string>>;

export const inList =
  (list: string, field = "") =>
  (at?: number): string =>
    at === undefined ? list : `${list}[${at}]${field}`;

export const chatNames: FieldNames = {
  messages: inList("messages"),
  call: inList("messages", ".tool_call_id"),
  prompt: inList("prompt"),
  tools: inList("tools", ".function.parameters"),
  tool: inList("tools", ".function.name"),
  choice: () => "tool_choice",
  chosen: () => "tool_choice.function.name",
  format: () => "response_format",
  schema: () => "response_format.json_schema.schema",
  "max tokens": () => "max_tokens",
};

/** The error with the API's field name, which is put before the message unless it has it. */
export function named(error: NodeError, names: FieldNames): NodeError {
  const { kind, message, subject, retryAfterMs } = error;
  if (subject === undefined) return error;
  const { part, at, inside = "" } = subject;
  const param = `${names[part](at)}${inside}`;
  const isWhole = at === undefined && (part === "messages" || part === "prompt");
  const told = isWhole || message.includes(param) ? message : `${param}: ${message}`;
  return new NodeError(kind, told, { param, ...given({ retryAfterMs }), cause: error });
}

/** Runs a check of the domain; its errors get the API's field names. */
export function withNames<Value>(names: FieldNames, check: () => Value): Value {
  try {
    return check();
  } catch (error) {
    throw error instanceof NodeError ? named(error, names) : error;
  }
}
