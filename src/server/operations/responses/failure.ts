/** A response that failed after it began. */
import type { NodeError } from "../../../core/errors.ts";
import { toFailure } from "../../../core/responses/response-failure.ts";
import { errorBody } from "../../middleware/errors.ts";
import type { ItemEvent } from "./item-writers.ts";
import type { ResponseObject } from "./schema.ts";

/** It is not kept: there is no answer to go on from. */
export function failedResponse(begun: ResponseObject, error: NodeError): ResponseObject {
  const { message } = errorBody(error).error;
  const { code } = toFailure(error);
  return { ...begun, status: "failed", store: false, error: { code, message } };
}

/** What failed, and the response as it is then. */
export function failureEvents(failed: ResponseObject, error: NodeError): ItemEvent[] {
  const { code, message, param } = errorBody(error).error;
  return [
    { type: "error", code, message, param },
    { type: "response.failed", response: failed },
  ];
}
