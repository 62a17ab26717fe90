/** What becomes of fields that are not in the schema: accepted, refused, or ignored and named. */
import { under, unknownKeys } from "../../middleware/ignored-fields.ts";
import { refuseFields } from "../../wire/refused-fields.ts";
import { CompletionRequest } from "./schema.ts";

/** An answer without these would be another answer than the one asked for. */
const refused = new Map([
  ["messages", "is for /v1/chat/completions; send 'prompt'"],
  ["max_completion_tokens", "is of chat completions; send 'max_tokens'"],
  ["tools", "cannot be honoured: a prompt as it stands has no tools; ask /v1/chat/completions"],
  [
    "response_format",
    "cannot be honoured: a prompt as it stands has no format; ask /v1/chat/completions",
  ],
  ["grammar", "cannot be honoured; send a JSON schema to /v1/chat/completions"],
  ["json_schema", "cannot be honoured; send 'response_format' to /v1/chat/completions"],
  ["rag", "cannot be honoured: a prompt is continued as it stands; ask /v1/chat/completions"],
]);

/** A field that is null counts as absent. */
export function ignoredFields(body: CompletionRequest): string[] {
  refuseFields(body, refused);
  const options = unknownKeys(body.stream_options ?? {}, ["include_usage", "include_obfuscation"]);
  return [
    ...unknownKeys(body, Object.keys(CompletionRequest.properties)),
    ...options.map(under("stream_options")),
  ];
}
