/** What the content blocks of one message hold, refused by name where a model cannot read it. */
import type { ToolCall } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import type { Block, Message, TextBlocks } from "./schema.ts";

/** What a tool answered to a call, and where it says so. */
export interface ToolResult {
  id: string;
  content: string;
  at: string;
}

export interface MessageContent {
  text: string;
  calls: readonly ToolCall[];
  results: readonly ToolResult[];
}

/** Between texts that were written apart. */
export const paragraph = "\n\n";

/** What the model is told before the answer of a tool that failed. */
const failed = "Error: ";

/** Their type is the name of something that no text can say. */
const unreadable: ReadonlyMap<string, string> = new Map([
  ["image", "images"],
  ["document", "documents"],
  ["search_result", "search results"],
  ["container_upload", "files"],
]);

export function readBlocks({ role, content }: Message, at: string): MessageContent {
  if (typeof content === "string") return { text: content, calls: [], results: [] };
  const texts: string[] = [];
  const calls: ToolCall[] = [];
  const results: ToolResult[] = [];
  for (const [index, block] of content.entries()) {
    const place = `${at}.content[${index}]`;
    switch (block.type) {
      case "text":
        texts.push(textOf(block, place));
        break;
      case "tool_use":
        checkRole(role, "assistant", block.type, place);
        calls.push(toCall(block, place));
        break;
      case "tool_result":
        checkRole(role, "user", block.type, place);
        if (texts.length > 0) throw refuse(place, behindText);
        results.push(toResult(block, place));
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
  // What the assistant wrote in several blocks was one text.
  return { text: texts.join(role === "assistant" ? "" : paragraph), calls, results };
}

export const behindText =
  "comes behind a text: results of tools come first in the turn after the calls";

/** The text of a list that can only hold texts. */
export function textOfBlocks(content: TextBlocks, at: string): string {
  if (typeof content === "string") return content;
  return content
    .map((block, index) => {
      const place = `${at}[${index}]`;
      if (block.type !== "text") throw unread(block.type, place);
      return textOf(block, place);
    })
    .join(paragraph);
}

function textOf({ text }: { text?: string }, at: string): string {
  if (text === undefined) throw refuse(`${at}.text`, "is required: a string");
  return text;
}

function toCall({ id, name, input }: Block, at: string): ToolCall {
  if (id === undefined) throw refuse(`${at}.id`, "is required: a string");
  if (name === undefined) throw refuse(`${at}.name`, "is required: a string");
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw refuse(`${at}.input`, "must be an object");
  }
  return { id, name, arguments: JSON.stringify(input) };
}

function toResult({ tool_use_id: id, content, is_error: isError }: Block, at: string): ToolResult {
  if (id === undefined) throw refuse(`${at}.tool_use_id`, "is required: a string");
  const text = textOfBlocks(content ?? "", `${at}.content`);
  return { id, content: isError === true ? failed + text : text, at };
}

function checkRole(role: Message["role"], wanted: Message["role"], type: string, at: string): void {
  if (role !== wanted) {
    throw refuse(at, `has the type '${type}', which is for messages with the role '${wanted}'`);
  }
}

function unread(type: string, at: string): Error {
  const what = unreadable.get(type) ?? `blocks of type ${quoted(type)}`;
  return refuse(
    at,
    `has the type ${quoted(type)}: this node's models read text and results of tools only, no ${what}`,
  );
}
