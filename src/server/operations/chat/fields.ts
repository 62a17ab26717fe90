/** What becomes of the OpenAI API's fields that are not in the schema: accepted, refused, or ignored and named. */
import { under, unknownKeys } from "../../middleware/ignored-fields.ts";
import { unknownInRag } from "../../wire/rag.ts";
import { refuseFields } from "../../wire/refused-fields.ts";
import { ChatCompletionRequest } from "./schema.ts";

/** Nothing about the answer depends on these. */
const harmless = new Set([
  "user",
  "metadata",
  "store",
  "service_tier",
  "safety_identifier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "prediction",
  "stream_options.include_obfuscation",
  "messages.annotations",
  "messages.refusal",
  "messages.reasoning_content",
]);

/** The same for fields of messages: without them the conversation would be another one. */
const refusedOfMessages = new Map([
  ["function_call", "is the OpenAI API's older form; send 'tool_calls'"],
  ["audio", "cannot be honoured: this node's models read text only"],
]);

/** An answer without these would be another answer than the one asked for. */
const refused = new Map([
  ["functions", "is the OpenAI API's older form; send 'tools'"],
  ["function_call", "is the OpenAI API's older form; send 'tool_choice'"],
  ["audio", "cannot be honoured: this node's models write text only"],
  ["web_search_options", "cannot be honoured: this node does not search the web"],
  ["moderation", "cannot be honoured: this node has no moderation"],
]);

const refusedUnlessText = new Map([
  ["modalities", "cannot be honoured: this node's models write text only"],
]);

/**
 * Refuses what would change the meaning and cannot be honoured; returns the names of the fields
 * that the node does not act on. A field that is null counts as absent.
 */
export function ignoredFields(body: ChatCompletionRequest): string[] {
  refuseFields(body, refused);
  refuseFields(body, refusedUnlessText, { isAbsent: isTextOnly });
  for (const [index, message] of body.messages.entries()) {
    refuseFields(message, refusedOfMessages, { at: `messages[${index}]` });
  }
  return [
    ...unknownKeys(body, [...Object.keys(ChatCompletionRequest.properties), "modalities"]),
    ...unknownKeys(body.stream_options ?? {}, ["include_usage"]).map(under("stream_options")),
    ...unknownKeys(body.response_format ?? {}, ["type", "json_schema"]).map(
      under("response_format"),
    ),
    ...unknownInRag(body.rag),
    ...(body.tools ?? []).flatMap(({ function: tool }, index) =>
      unknownKeys(tool, toolFields).map(under(`tools[${index}].function`)),
    ),
    ...body.messages.flatMap((message, index) =>
      unknownKeys(message, messageFields).map(under(`messages[${index}]`)),
    ),
  ].filter((name) => !harmless.has(name.replace(/\[\d+\]/, "")));
}

const toolFields = ["name", "description", "parameters", "strict"];
const messageFields = ["role", "content", "tool_calls", "tool_call_id"];

const isTextOnly = (value: unknown): boolean =>
  Array.isArray(value) && value.every((modality) => modality === "text");
