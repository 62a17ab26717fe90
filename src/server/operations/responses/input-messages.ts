/** The items of a request as the messages of a conversation: complete, and refused by name where they are not. */
import type { ChatMessage, ToolCall } from "../../../core/ports/chat-engine.ts";
import { quoted } from "../../../core/quoted.ts";
import { JsonSize } from "../../json-size.ts";
import { checkedArguments, unanswered } from "../../wire/messages.ts";
import { refuse } from "../../wire/refuse.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import { isParts, textOf } from "./content-text.ts";
import { modelName } from "./namespaces.ts";
import { refusedItem } from "./refused-types.ts";
import type { Input, InputItem } from "./request-schema.ts";

/**
 * The messages that the input adds to a conversation, which goes before it and may end in calls
 * that wait for their outputs.
 */
export function toMessages(input: Input, before: readonly ChatMessage[] = []): ChatMessage[] {
  const items = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  const conversation = new ConversationDraft(before);
  for (const [index, item] of items.entries()) conversation.add(item, `input[${index}]`);
  const messages = conversation.finish();
  if (![...before, ...messages].some(({ role }) => role === "user")) {
    throw refuse("input", "needs a message with the role 'user'");
  }
  return messages;
}

/** Those of items that are kept; they may end in calls that wait for their outputs. */
export function toMessagesSoFar(items: readonly InputItem[], list: string): ChatMessage[] {
  const conversation = new ConversationDraft([]);
  for (const [index, item] of items.entries()) conversation.add(item, `${list}[${index}]`);
  return conversation.soFar();
}

class ConversationDraft {
  readonly #messages: ChatMessage[] = [];
  /** The ids of calls that have no output yet. */
  readonly #open: Set<string>;
  /** The answer that calls and texts still join. */
  #answer: { content: string; toolCalls: ToolCall[] } | undefined;
  // One count for all: the arguments of many calls are as large as one call's can be.
  readonly #size = new JsonSize();

  constructor(before: readonly ChatMessage[]) {
    this.#open = openCalls(before);
  }

  add(item: InputItem, at: string): void {
    switch (item.type ?? "message") {
      case "message":
        this.#message(item, at);
        break;
      case "function_call":
        this.#call(item, at);
        break;
      case "function_call_output":
        this.#output(item, at);
        break;
      case "reasoning": // Models are not shown their earlier thoughts.
      case "file_search_call": // What was found is found again, or remembered with its turn.
        break;
      default:
        throw refusedItem(item.type ?? "", at);
    }
  }

  soFar(): ChatMessage[] {
    this.#endAnswer();
    return this.#messages;
  }

  finish(): ChatMessage[] {
    const messages = this.soFar();
    if (this.#open.size > 0) throw unanswered(this.#open, "input");
    return messages;
  }

  #message({ role, content }: InputItem, at: string): void {
    if (role === undefined) {
      throw refuse(`${at}.role`, "is required: 'user', 'assistant', 'system' or 'developer'");
    }
    if (content === null || content === undefined) {
      throw refuse(`${at}.content`, "is required: a string or a list of text parts");
    }
    const text = textOf(content, `${at}.content`);
    if (role === "assistant" && this.#answer !== undefined && this.#answer.toolCalls.length > 0) {
      this.#answer.content += text;
      return;
    }
    this.#endAnswer();
    if (this.#open.size > 0) throw unanswered(this.#open, at);
    if (role === "assistant") this.#answer = { content: text, toolCalls: [] };
    else this.#messages.push({ role: role === "user" ? role : "system", content: text });
  }

  #call({ call_id: id, name, namespace, arguments: text }: InputItem, at: string): void {
    if (id === null || id === undefined) throw refuse(`${at}.call_id`, "is required: a string");
    if (typeof name !== "string" || name === "") {
      throw refuse(`${at}.name`, "is required: the name of the function");
    }
    if (typeof text !== "string") throw refuse(`${at}.arguments`, "is required: JSON, as a string");
    if (this.#answer === undefined && this.#open.size > 0) throw unanswered(this.#open, at);
    if (this.#open.has(id)) {
      throw refuse(`${at}.call_id`, `${quoted(id)} is the id of another call`);
    }
    this.#answer ??= { content: "", toolCalls: [] };
    const complete = checkedArguments(text, `${at}.arguments`, this.#size);
    const called = modelName({ name, ...withoutNulls({ namespace }) });
    this.#answer.toolCalls.push({ id, name: called, arguments: complete });
    this.#open.add(id);
  }

  #output({ call_id: id, output }: InputItem, at: string): void {
    if (id === null || id === undefined) {
      throw refuse(`${at}.call_id`, "is required: the call that this is the output of");
    }
    if (!this.#open.delete(id)) {
      throw refuse(`${at}.call_id`, `${quoted(id)} is the id of no call that waits for its output`);
    }
    if (typeof output !== "string" && !isParts(output)) {
      throw refuse(`${at}.output`, "is required: a string or a list of text parts");
    }
    this.#endAnswer();
    this.#messages.push({
      role: "tool",
      toolCallId: id,
      content: textOf(output, `${at}.output`),
    });
  }

  #endAnswer(): void {
    if (this.#answer === undefined) return;
    const { content, toolCalls } = this.#answer;
    this.#messages.push({
      role: "assistant",
      content,
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    });
    this.#answer = undefined;
  }
}

/** The calls that a conversation ends in and that have no output. */
function openCalls(messages: readonly ChatMessage[]): Set<string> {
  const last = messages.findLastIndex(({ role }) => role !== "tool");
  const calling = messages[last];
  const calls = calling?.role === "assistant" ? (calling.toolCalls ?? []) : [];
  const open = new Set(calls.map(({ id }) => id));
  for (const message of messages.slice(last + 1)) {
    if (message.role === "tool") open.delete(message.toolCallId);
  }
  return open;
}
