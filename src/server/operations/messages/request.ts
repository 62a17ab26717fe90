/** Converts a request of Anthropic's API to the domain: pure functions, no HTTP. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import { checkConversation, checkedToolUse } from "../../../core/chat/conversation.ts";
import { withTextBefore } from "../../../core/chat/images.ts";
import type {
  AnswerFormat,
  ChatMessage,
  Content,
  Tool,
  ToolCall,
  ToolUse,
} from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { chatNames, type FieldNames, inList, withNames } from "../../wire/field-names.ts";
import { refuse, required, withoutNulls } from "../../wire/fields.ts";
import { toSampling } from "../../wire/generation-fields.ts";
import { toRag } from "../../wire/grounding.ts";
import {
  type ImageReader,
  MixedContent,
  noImages,
  noImagesOf,
  type SentImage,
} from "../../wire/images.ts";
import type { Block, CountTokensRequest, Message, MessageRequest, ResultBlocks } from "./schema.ts";

export const messageNames: FieldNames = {
  ...chatNames,
  tools: inList("tools", ".input_schema"),
  tool: inList("tools", ".name"),
  chosen: () => "tool_choice.name",
  format: () => "output_config.format",
  schema: () => "output_config.format.schema",
};

interface MessagePrompt {
  messages: ChatMessage[];
  toolUse?: ToolUse;
}

export function toPrompt(body: CountTokensRequest, readImage: ImageReader): MessagePrompt {
  const toolUse = toToolUse(body);
  if (body.output_format && body.output_config?.format) {
    throw refuse(
      "output_format",
      "is the older name of 'output_config.format' and cannot stand beside it; send one of them",
    );
  }
  return { messages: toConversation(body, readImage), ...withoutNulls({ toolUse }) };
}

export function toChatRequest(body: MessageRequest, readImage: ImageReader): ChatRequest {
  return {
    model: body.model,
    ...toPrompt(body, readImage),
    sampling: toSampling(body),
    maxTokens: body.max_tokens,
    ...withoutNulls({
      stop: body.stop_sequences?.length ? body.stop_sequences : undefined,
      format: toFormat(body),
      rag: toRag(body.rag),
    }),
  };
}

/** How thoughts of a reasoning model are shown: in full, as empty blocks, or not at all. */
export type Thoughts = "shown" | "omitted" | "hidden";

export function toThoughts({ thinking }: Pick<MessageRequest, "thinking">): Thoughts {
  if (thinking?.type === "disabled") return "hidden";
  return thinking && "display" in thinking && thinking.display === "omitted" ? "omitted" : "shown";
}

function toFormat(body: MessageRequest): AnswerFormat | undefined {
  const format = body.output_config?.format ?? body.output_format;
  return format ? { schema: format.schema } : undefined;
}

const choices = { auto: "auto", any: "required", none: "none" } as const;

function toToolUse({ tools, tool_choice: choice }: CountTokensRequest): ToolUse | undefined {
  const disabled = choice && "disable_parallel_tool_use" in choice;
  return checkedToolUse({
    tools: (tools ?? []).map(toTool),
    choice: choice?.type === "tool" ? { name: choice.name } : choice && choices[choice.type],
    parallel: !(disabled && choice.disable_parallel_tool_use === true),
  });
}

type WireTool = NonNullable<CountTokensRequest["tools"]>[number];

function toTool(
  { type, name, description, input_schema: parameters, strict }: WireTool,
  at: number,
): Tool {
  const place = `tools[${at}]`;
  if (type !== undefined && type !== null && type !== "custom") {
    throw refuse(
      `${place}.type`,
      `is ${quoted(type)}, one of Anthropic's own tools, which this node does not have. Describe a tool of yours with 'name', 'description' and 'input_schema'`,
    );
  }
  return {
    name: required(name, `${place}.name`, "a string"),
    parameters: required(parameters, `${place}.input_schema`, "a JSON Schema"),
    strict: strict === true,
    ...withoutNulls({ description }),
  };
}

/** Consecutive messages of one role. */
interface Turn {
  role: Message["role"];
  said: MixedContent;
  calls: ToolCall[];
  results: ToolResult[];
  /** The path of its last message. */
  at: string;
}

interface PlacedMessage {
  message: ChatMessage;
  at: string;
}

type Conversation = Pick<CountTokensRequest, "system" | "messages">;

/** Joins turns, puts tool results after their calls, and validates the conversation. */
export function toConversation(
  { system, messages }: Conversation,
  readImage: ImageReader = noImages,
): ChatMessage[] {
  const turns = toTurns(messages, readImage);
  const placed = turns.flatMap(toChatMessages);
  const said = placed.map(({ message }) => message);
  const names: FieldNames = {
    ...messageNames,
    messages: (index) => placed[index ?? -1]?.at ?? "messages",
    call: (index) => `${placed[index ?? -1]?.at}.tool_use_id`,
  };
  // A user's turn may consist of tool results only.
  const hasUser = turns.some(({ role }) => role === "user");
  withNames(names, () => checkConversation(said, { hasUser }));
  checkEnd(turns);
  const instructions = system ? readBlocks(system, "system", noImagesOf("system")).content : "";
  return instructions === "" ? said : [{ role: "system", content: instructions }, ...said];
}

function toTurns(messages: readonly Message[], readImage: ImageReader): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const { role } = message;
    const last = turns.at(-1);
    const turn =
      last?.role === role
        ? last
        : { role, said: new MixedContent(paragraph), calls: [], results: [], at };
    if (turn !== last) turns.push(turn);
    turn.at = at;
    readContent(message, turn, role === "user" ? readImage : noImagesOf(role));
  }
  return turns;
}

function toChatMessages({ role, said, calls, results, at }: Turn): PlacedMessage[] {
  const { content } = said.read;
  const toolCalls = calls.length === 0 ? {} : { toolCalls: calls };
  if (role !== "user") return [{ message: { role, content, ...toolCalls }, at }];
  return [
    ...results.map(({ id: toolCallId, at, ...read }): PlacedMessage => {
      return { message: { role: "tool", toolCallId, ...read }, at };
    }),
    ...(said.isEmpty && results.length > 0 ? [] : [{ message: { role, ...said.read }, at }]),
  ];
}

function checkEnd(turns: readonly Turn[]): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  throw refuse(
    last.at,
    "is the last and has the role 'assistant': assistant message prefill is not supported by this node's models. End with a message of the user's, and ask for a form of the answer in 'system' or with 'output_config.format'",
  );
}

interface ToolResult extends Content {
  id: string;
  at: string;
}

/** Separates texts of different blocks or messages. */
const paragraph = "\n\n";

/** Block types that cannot be read, with their names for errors. */
const unreadable: ReadonlyMap<string, string> = new Map([
  ["document", "documents"],
  ["search_result", "search results"],
  ["container_upload", "files"],
]);

/** Adds what a message says, calls and returns to the turn, whose last message it is. */
function readContent({ role, content }: Message, turn: Turn, readImage: ImageReader): void {
  turn.said.beginPart();
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  for (const [index, block] of blocks.entries()) {
    const place = `${turn.at}.content[${index}]`;
    // The assistant's text blocks were one text.
    if (role !== "assistant") turn.said.beginPart();
    switch (block.type) {
      case "text":
        turn.said.addText(textOf(block, place));
        break;
      case "image":
        turn.said.addImage(readImage(toSentImage(block), place));
        break;
      case "tool_use":
        checkRole(role, "assistant", block.type, place);
        turn.calls.push(toCall(block, place));
        break;
      case "tool_result":
        checkRole(role, "user", block.type, place);
        if (!turn.said.isEmpty) throw refuse(place, behindText);
        turn.results.push(toResult(block, place, readImage));
        break;
      // Models are not shown their earlier thoughts.
      case "thinking":
      case "redacted_thinking":
        checkRole(role, "assistant", block.type, place);
        break;
      default:
        throw unread(block.type, place);
    }
  }
}

const behindText =
  "comes behind a text or an image: results of tools come first in the turn after the calls";

function readBlocks(content: ResultBlocks, at: string, readImage: ImageReader): Content {
  if (typeof content === "string") return { content };
  const read = new MixedContent(paragraph);
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    read.beginPart();
    if (block.type === "text") read.addText(textOf(block, place));
    else if (block.type === "image") read.addImage(readImage(toSentImage(block), place));
    else throw unread(block.type, place);
  }
  return read.read;
}

function toSentImage({ source }: Pick<Block, "source">): SentImage {
  if (source?.type === "url") return { field: ".source.url", url: source.url };
  if (source?.type === "file") return { field: ".source.file_id", file: source.file_id };
  if (source === undefined) return { field: ".source" };
  const { data, media_type: type } = source;
  return { field: ".source.data", encoded: { data, type } };
}

const textOf = ({ text }: { text?: string }, at: string): string =>
  required(text, `${at}.text`, "a string");

function toCall({ id, name, input }: Block, at: string): ToolCall {
  const call = {
    id: required(id, `${at}.id`, "a string"),
    name: required(name, `${at}.name`, "a string"),
  };
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw refuse(`${at}.input`, "must be an object");
  }
  return { ...call, arguments: JSON.stringify(input) };
}

function toResult(
  { tool_use_id, content, is_error: isError }: Block,
  at: string,
  readImage: ImageReader,
): ToolResult {
  const id = required(tool_use_id, `${at}.tool_use_id`, "a string");
  const read = readBlocks(content ?? "", `${at}.content`, readImage);
  return { id, at, ...(isError === true ? withTextBefore(read, "Error: ") : read) };
}

function checkRole(role: Message["role"], wanted: Message["role"], type: string, at: string): void {
  if (role !== wanted) {
    throw refuse(at, `has the type '${type}', which is for messages with the role '${wanted}'`);
  }
}

function unread(type: string, at: string): Error {
  const what = unreadable.get(type) ?? `blocks of type ${quoted(type)}`;
  return refuse(at, `has the type ${quoted(type)}: this node's models read no ${what}`);
}
