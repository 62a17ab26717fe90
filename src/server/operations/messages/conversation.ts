/** Messages of Anthropic's API as the domain's: turns joined, calls and their results in place. */
import type { ChatMessage } from "../../../core/ports/chat-engine.ts";
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
import type { Message, TextBlocks } from "./content-schema.ts";

/** Messages of one role that follow each other. */
interface Turn extends MessageContent {
  role: Message["role"];
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
    const content = readBlocks(message, at);
    const last = turns.at(-1);
    if (last?.role === message.role) turns[turns.length - 1] = joined(last, content, at);
    else turns.push({ role: message.role, at, ...content });
  }
  return turns;
}

function joined(turn: Turn, { text, calls, results }: MessageContent, at: string): Turn {
  const [late] = results;
  if (late !== undefined && turn.text !== "") throw refuse(late.at, behindText);
  return {
    role: turn.role,
    at,
    text: [turn.text, text].filter((part) => part !== "").join(paragraph),
    calls: [...turn.calls, ...calls],
    results: [...turn.results, ...results],
  };
}

function toChatMessages({ role, text, calls, results }: Turn): ChatMessage[] {
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
