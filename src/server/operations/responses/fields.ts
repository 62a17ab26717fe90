/** What becomes of the OpenAI API's fields that are not in the schema: accepted, refused, or ignored and named. */
import { under, unknownFields, unknownKeys } from "../../middleware/ignored-fields.ts";
import { unknownInRag } from "../../wire/rag.ts";
import { refuseFields } from "../../wire/refused-fields.ts";
import { unserved } from "../../wire/response-include.ts";
import { FileSearchTool } from "./file-search.ts";
import { unknownInChoice, unknownInItem } from "./item-fields.ts";
import { ResponseRequest } from "./request-schema.ts";
import { NamespacedTool, type ResponseTool } from "./tool-schema.ts";

/** Nothing about the answer depends on these. */
const harmless = new Set([
  "user",
  "safety_identifier",
  "service_tier",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "access_programs",
  "client_metadata",
  "image",
  "stream_options.include_obfuscation",
]);

/** An answer without these would be another answer than the one asked for. */
const refused = new Map([
  ["prompt", "is not done: this node stores no prompts; send 'instructions' and 'input'"],
  [
    "context_management",
    "cannot be honoured: this node does not compact conversations; send 'truncation': 'auto'",
  ],
  ["moderation", "cannot be honoured: this node has no moderation"],
  ["n", "is a field of chat; a response has one answer"],
  ["messages", "is a field of chat; send 'input'"],
  ["max_tokens", "is a field of chat; send 'max_output_tokens'"],
  ["max_completion_tokens", "is a field of chat; send 'max_output_tokens'"],
  ["response_format", "is a field of chat; send 'text.format'"],
]);

/**
 * Refuses what would change the meaning and cannot be honoured; returns the names of the fields
 * that the node does not act on. A field that is null counts as absent.
 */
export function ignoredFields(body: ResponseRequest): string[] {
  refuseFields(body, refused);
  const items = typeof body.input === "object" ? body.input : [];
  return [
    ...unknownKeys(body, Object.keys(ResponseRequest.properties)),
    ...unknownKeys(body.stream_options ?? {}, []).map(under("stream_options")),
    ...unknownKeys(body.reasoning ?? {}, []).map(under("reasoning")),
    ...unknownKeys(body.text ?? {}, ["format"]).map(under("text")),
    ...unknownKeys(body.text?.format ?? {}, formatFields).map(under("text.format")),
    ...unserved(body.include ?? []),
    ...unknownInRag(body.rag),
    ...(body.tools ?? []).flatMap((tool, at) => unknownInTool(tool, `tools[${at}]`)),
    ...unknownInChoice(body.tool_choice),
    ...items.flatMap((item, at) => unknownInItem(item, `input[${at}]`)),
  ].filter((name) => !harmless.has(name));
}

const formatFields = ["type", "name", "description", "schema", "strict"];

/** A tool that is left out is named as a whole, and so is what a namespace says beside its functions. */
function unknownInTool(tool: ResponseTool, at: string): string[] {
  if (tool.type === "file_search") return unknownFields(FileSearchTool, tool, at);
  if (tool.type === "function") return unknownFields(NamespacedTool, tool, at);
  if (tool.type !== "namespace") return [at];
  const inside = (tool.tools ?? []).flatMap((one, place) => {
    const inner = `${at}.tools[${place}]`;
    return one.type === "function" ? unknownFields(NamespacedTool, one, inner) : [inner];
  });
  return [...unknownKeys(tool, ["type", "name", "tools"]).map(under(at)), ...inside];
}
