/** What becomes of the OpenAI API's fields that are not in the schema: accepted, refused, or ignored and named. */
import { under, unknownKeys } from "../../middleware/ignored-fields.ts";
import {
  ignoredInFunctions,
  ignoredInMessages,
  ignoredInOlder,
} from "../../wire/message-fields.ts";
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
]);

/** An answer without these would be another answer than the one asked for. */
const refused = new Map([
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
  const inMessages = ignoredInMessages(body.messages);
  return [
    ...unknownKeys(body, [...Object.keys(ChatCompletionRequest.properties), "modalities"]),
    ...unknownKeys(body.stream_options ?? {}, ["include_usage"]).map(under("stream_options")),
    ...unknownKeys(body.response_format ?? {}, formatFields(body.response_format?.type)).map(
      under("response_format"),
    ),
    ...unknownInRag(body.rag),
    ...ignoredInFunctions(body.tools ?? []),
    ...ignoredInOlder(body.functions ?? []),
    ...inMessages,
  ].filter((name) => !harmless.has(name));
}

const formatFields = (type: string | undefined): string[] =>
  type === "json_object" ? ["type", "schema"] : ["type", "json_schema"];

const isTextOnly = (value: unknown): boolean =>
  Array.isArray(value) && value.every((modality) => modality === "text");
