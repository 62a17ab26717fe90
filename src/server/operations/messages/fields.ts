/** What becomes of the fields of Anthropic's API that are not in the schema: accepted, refused, or ignored and named. */
import { under, unknownKeys } from "../../middleware/ignored-fields.ts";
import { unknownInRag } from "../../wire/rag.ts";
import { refuse } from "../../wire/refuse.ts";
import { refuseFields } from "../../wire/refused-fields.ts";
import { Block, InnerBlock } from "./content-schema.ts";
import { CountTokensRequest, MessageRequest } from "./schema.ts";

/** Nothing about the answer depends on these. */
const harmless = [
  "cache_control",
  "metadata",
  "service_tier",
  "speed",
  "user_profile_id",
  "workspace_id",
];

/** An answer without these would be another answer than the one asked for. */
const refused = new Map([
  [
    "thread",
    "cannot be honoured: this node keeps no conversations; send all messages, without 'thread'",
  ],
  ["container", "cannot be honoured: this node runs no code"],
  ["mcp_servers", "cannot be honoured: this node asks no MCP servers; send their tools as 'tools'"],
  ["inference_geo", "cannot be honoured: this node's models run where they run"],
]);

const toolFields = [
  ...["type", "name", "description", "input_schema", "strict"],
  ...["cache_control", "eager_input_streaming"],
];
const blockFields = new Set([
  ...Object.keys(Block.properties),
  "cache_control",
  "citations",
  "caller",
]);
/** Of those that a block holds in turn. */
const innerFields = new Set([...Object.keys(InnerBlock.properties), "cache_control", "citations"]);
const thinkingFields = ["type", "display"];
const formatFields = ["type", "schema"];
const choiceFields = {
  auto: ["type", "disable_parallel_tool_use"],
  any: ["type", "disable_parallel_tool_use"],
  tool: ["type", "name", "disable_parallel_tool_use"],
  none: ["type", "disable_parallel_tool_use"],
};

/** Refuses what would change the meaning; returns the names of the fields that are not acted on. */
export function ignoredFields(body: MessageRequest): string[] {
  return ignoredOf(body, [...Object.keys(MessageRequest.properties), ...harmless]).concat(
    unknownInRag(body.rag),
  );
}

export function ignoredInCount(body: CountTokensRequest): string[] {
  return ignoredOf(body, [...Object.keys(CountTokensRequest.properties), ...harmless]);
}

function ignoredOf(body: CountTokensRequest, known: readonly string[]): string[] {
  refuseFields(body, refused, { isAbsent: isEmptyList });
  const { thinking, tools, system, messages, output_config: output } = body;
  const { tool_choice: choice, output_format: format } = body;
  if (format && output?.format) {
    throw refuse(
      "output_format",
      "is the older name of 'output_config.format' and cannot stand beside it; send one of them",
    );
  }
  return [
    ...unknownKeys(body, known),
    ...unknownKeys(thinking ?? {}, thinkingFields).map(under("thinking")),
    ...(thinking?.type === "between_tools" ? ["thinking.type"] : []),
    ...(thinking && "display" in thinking && thinking.display === "updates"
      ? ["thinking.display"]
      : []),
    ...unknownKeys(choice ?? {}, choiceFields[choice?.type ?? "auto"]).map(under("tool_choice")),
    ...unknownKeys(output ?? {}, ["format"]).map(under("output_config")),
    ...unknownKeys(output?.format ?? {}, formatFields).map(under("output_config.format")),
    ...unknownKeys(format ?? {}, formatFields).map(under("output_format")),
    ...(tools ?? []).flatMap((tool, at) =>
      unknownKeys(tool, toolFields)
        .filter((name) => !isWithoutEffect(name, Reflect.get(tool, name)))
        .map(under(`tools[${at}]`)),
    ),
    ...unknownInBlocks(system, "system"),
    ...messages.flatMap(({ content, ...rest }, at) => [
      ...unknownKeys(rest, ["role"]).map(under(`messages[${at}]`)),
      ...unknownInBlocks(content, `messages[${at}].content`),
    ]),
  ];
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Whether a tool's field says what is so anyway. */
const isWithoutEffect = (name: string, value: unknown): boolean =>
  (name === "defer_loading" && value === false) ||
  (name === "allowed_callers" && Array.isArray(value) && value.includes("direct"));

/** Blocks may be as many as a body holds, so their names are kept ready. */
function unknownInBlocks(content: unknown, place: string, known = blockFields): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((block, at) => [
    ...Object.entries(Object(block))
      .filter(([name, value]) => value !== null && !known.has(name))
      .map(([name]) => `${place}[${at}].${name}`),
    ...(known === blockFields
      ? unknownInBlocks(
          Reflect.get(Object(block), "content"),
          `${place}[${at}].content`,
          innerFields,
        )
      : []),
  ]);
}
