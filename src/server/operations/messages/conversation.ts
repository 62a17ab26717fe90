/** Messages of Anthropic's API as the domain's: turns joined, calls and their results in place. */
import type { ChatMessage, ToolCall } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { unanswered } from "../../wire/messages.ts";
import { refuse } from "../../wire/refuse.ts";
import {
  behindText,
  type MessageContent,
  paragraph,
  readBlocks,
  type ToolResult,
  textOfBlocks,
} from "./blocks.ts";
import type { Message, TextBlocks } from "./schema.ts";

/** Messages of one role that follow each other; collected first, since there may be many. */
interface Turn {
  role: Message["role"];
  texts: string[];
  calls: ToolCall[];
  results: ToolResult[];
  /** Of its last message. */
  at: string;
}

interface Conversation {
  system?: TextBlocks | null;
  messages: readonly Message[];
}

export function toConversation({ system, messages }: Conversation): ChatMessage[] {
  const turns = toTurns(messages);
  if (!turns.some(({ role }) => role === "user")) {
    throw refuse("messages", "needs a message with the role 'user'");
  }
  checkCalls(turns);
  checkEnd(turns);
  const instructions = system ? textOfBlocks(system, "system") : "";
  return [
    ...(instructions === "" ? [] : [{ role: "system", content: instructions } as const]),
    ...turns.flatMap(toChatMessages),
  ];
}

function toTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const { role } = message;
    if (turns.at(-1)?.role !== role) turns.push({ role, texts: [], calls: [], results: [], at });
    const turn = turns.at(-1);
    if (turn !== undefined) extend(turn, readBlocks(message, at), at);
  }
  return turns;
}

function extend(turn: Turn, { text, calls, results }: MessageContent, at: string): void {
  const [late] = results;
  if (late !== undefined && turn.texts.length > 0) throw refuse(late.at, behindText);
  if (text !== "") turn.texts.push(text);
  for (const call of calls) turn.calls.push(call);
  for (const result of results) turn.results.push(result);
  turn.at = at;
}

function toChatMessages({ role, texts, calls, results }: Turn): ChatMessage[] {
  const text = texts.join(paragraph);
  switch (role) {
    case "system":
      return [{ role, content: text }];
    case "assistant":
      return [{ role, content: text, ...(calls.length === 0 ? {} : { toolCalls: calls }) }];
    case "user":
      return [
        ...results.map(({ id, content }) => ({ role: "tool", toolCallId: id, content }) as const),
        ...(text === "" && results.length > 0 ? [] : [{ role, content: text } as const]),
      ];
  }
}

/** Every call has its result in the turn after it, and every result its call, as Anthropic demands. */
function checkCalls(turns: readonly Turn[]): void {
  let open = new Set<string>();
  for (const { calls, results, at } of turns) {
    for (const result of results) closeCall(open, result);
    if (open.size > 0) throw unanswered(open, at);
    open = new Set(calls.map(({ id }) => id));
  }
  if (open.size > 0) throw unanswered(open, "messages");
}

function closeCall(open: Set<string>, { id, at }: ToolResult): void {
  if (open.delete(id)) return;
  throw refuse(`${at}.tool_use_id`, `${quoted(id)} answers no 'tool_use' of the turn before it`);
}

function checkEnd(turns: readonly Turn[]): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  throw refuse(
    last.at,
    "is the last and has the role 'assistant': assistant message prefill is not supported by this node's models. End with a message of the user's, and ask for a form of the answer in 'system' or with 'output_config.format'",
  );
}
