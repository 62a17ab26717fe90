/** What becomes of the fields of requests, by an example of each. */
import type { FieldExample } from "../../support/field-examples.ts";

/** By operation; `$file` and the like stand for ids. */
export const examples: Readonly<Record<string, readonly FieldExample[]>> = {
  "GET /v1/responses/{response_id}": [
    ["include", "honoured", ["file_search_call.results"]],
    ["include", "honoured", ["message.output_text.logprobs"]],
    ["include", "ignored", ["reasoning.encrypted_content"]],
    ["include", "ignored", ["web_search_call.action.sources"]],
    ["include", "rejected", ["everything"]],
    ["stream", "accepted", false],
    ["stream", "rejected", true],
    ["starting_after", "ignored", 4],
    ["include_obfuscation", "ignored", true],
  ],
  "GET /v1/responses/{response_id}/input_items": [
    ["limit", "honoured", 1],
    ["limit", "rejected", 101],
    ["order", "honoured", "asc"],
    ["after", "honoured", "msg_0"],
    ["after", "rejected", "msg_unknown"],
    ["before", "honoured", "msg_0"],
    ["include", "honoured", ["file_search_call.results"]],
    ["include", "accepted", ["message.input_image.image_url"]],
  ],
};
