/** A response that failed after it began. */
import type { NodeError } from "../../../core/errors.ts";
import { errorBody } from "../../middleware/errors.ts";
import type { ItemEvent } from "./item-writers.ts";
import type { ResponseObject } from "./schema.ts";

/** The codes of the OpenAI API, by its types of errors. */
const codes: Readonly<Record<string, string>> = {
  invalid_request_error: "invalid_prompt",
  requests: "rate_limit_exceeded",
  tokens: "rate_limit_exceeded",
};

export function failedResponse(begun: ResponseObject, error: NodeError): ResponseObject {
  const { message, type } = errorBody(error).error;
  return { ...begun, status: "failed", error: { code: codes[type] ?? "server_error", message } };
}

/** What failed, and the response as it is then. */
export function failureEvents(failed: ResponseObject, error: NodeError): ItemEvent[] {
  const { code, message, param } = errorBody(error).error;
  return [
    { type: "error", code, message, param },
    { type: "response.failed", response: failed },
  ];
}
