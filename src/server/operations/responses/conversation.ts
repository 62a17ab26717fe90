/** Builds a response's conversation: the previous response's or a stored one, then the input. */
import { Type as T } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { checkConversation } from "../../../core/chat/conversation.ts";
import { charactersOf } from "../../../core/chat/images.ts";
import { NodeError, reasonOf } from "../../../core/errors.ts";
import { JsonSize } from "../../../core/json-size.ts";
import type { ChatMessage, ToolCall } from "../../../core/ports/chat-engine.ts";
import { isFinished } from "../../../core/ports/response-store.ts";
import { quoted } from "../../../core/quoted.ts";
import type { ConversationItem } from "../../../core/responses/conversation-service.ts";
import { chatNames, type FieldNames, withNames } from "../../wire/field-names.ts";
import { refuse, required } from "../../wire/fields.ts";
import { type ImageReader, noImages, noImagesOf } from "../../wire/images.ts";
import { checkedArguments, type PartTypes, readParts } from "../../wire/messages.ts";
import { refusedItem } from "./absent.ts";
import {
  type FindResponse,
  itemCheck,
  type ReferenceOptions,
  toListedItems,
  withoutReferences,
} from "./items.ts";
import { type Input, type InputItem, Part, type ResponseRequest } from "./request-schema.ts";
import type { OutputItem } from "./schema.ts";
import { modelName } from "./tools.ts";

export interface AskedConversation {
  /** Without instructions, which are not carried over. */
  messages: readonly ChatMessage[];
  items: readonly ConversationItem[];
}

type Asked = Pick<ResponseRequest, "input" | "previous_response_id" | "conversation">;

interface AskedOptions extends ReferenceOptions {
  id: string;
  maxMessages: number;
  /** The items of a stored conversation; throws if the caller has no such conversation. */
  itemsOf: (conversation: string) => Promise<readonly object[]>;
  readImage: ImageReader;
  /** For images of a stored conversation. */
  readStored: ImageReader;
}

export const conversationOf = ({ conversation }: Asked): string | undefined =>
  typeof conversation === "object" ? conversation?.id : conversation;

export async function askedConversation(
  body: Asked,
  { id, maxMessages, itemsOf, readImage, readStored, ...references }: AskedOptions,
): Promise<AskedConversation> {
  const sent = required(body.input, "input", "a text or a list of items");
  const before = await saidBefore(body, references.find, { itemsOf, readStored });
  references.hold(before.reduce((sum, message) => sum + charactersOf(message), 0));
  const input = typeof sent === "string" ? sent : await withoutReferences(sent, references);
  const messages = [...before, ...toMessages(input, before, readImage)];
  if (messages.length > maxMessages) {
    throw refuse(
      conversationOf(body) === undefined ? "previous_response_id" : "conversation",
      `makes a conversation of ${messages.length} messages; this node takes at most ${maxMessages} (limits.max_messages)`,
    );
  }
  return { messages, items: toListedItems(input, id) };
}

async function saidBefore(
  body: Asked,
  find: FindResponse,
  { itemsOf, readStored }: Pick<AskedOptions, "itemsOf" | "readStored">,
): Promise<readonly ChatMessage[]> {
  const previous = body.previous_response_id ?? undefined;
  const conversation = conversationOf(body);
  if (conversation === undefined) return previous === undefined ? [] : await said(previous, find);
  if (previous !== undefined) {
    throw refuse("conversation", "cannot be used with 'previous_response_id'");
  }
  const items = (await itemsOf(conversation)).filter((item) => itemCheck.Check(item));
  try {
    return toMessagesSoFar(items, "items", readStored);
  } catch (error) {
    // Items that others depend on may have been deleted.
    throw refuse("conversation", `has items that do not fit together: ${reasonOf(error)}`);
  }
}

async function said(id: string, find: FindResponse): Promise<readonly ChatMessage[]> {
  const param = "previous_response_id";
  const response = await find(id);
  if (response === undefined) {
    throw new NodeError(
      "no_such_object",
      `Previous response with id ${quoted(id)} not found: it was not stored, was deleted, has expired, or belongs to another key.`,
      { param },
    );
  }
  const { status, conversation } = response;
  if (!isFinished(status))
    throw refuse(param, `${quoted(id)} is still being made; try again later`);
  if (status === "failed" || status === "cancelled") {
    throw refuse(param, `${quoted(id)} has no answer to go on from: it is ${status}`);
  }
  return conversation;
}

/** Adds the answer to the conversation, without calls that were cut short. */
export function withAnswer(
  messages: readonly ChatMessage[],
  output: readonly OutputItem[],
): ChatMessage[] {
  const content = output
    .flatMap((item) => (item.type === "message" ? item.content.map(({ text }) => text) : []))
    .join("");
  const toolCalls = output.flatMap((item): ToolCall[] => {
    if (item.type !== "function_call" || item.status !== "completed") return [];
    return [{ id: item.call_id, name: modelName(item), arguments: item.arguments || "{}" }];
  });
  const answer = { role: "assistant", content } as const;
  return [...messages, toolCalls.length === 0 ? answer : { ...answer, toolCalls }];
}

/** `before`: the conversation that the input continues; it may end in calls without outputs. */
export function toMessages(
  input: Input,
  before: readonly ChatMessage[] = [],
  readImage: ImageReader = noImages,
): ChatMessage[] {
  const items = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
  const { messages, places } = readItems(items, "input", readImage);
  const names = itemNames("input", places, before.length);
  withNames(names, () => checkConversation([...before, ...messages]));
  return messages;
}

/** The messages of stored items; they may end in calls that wait for their outputs. */
export function toMessagesSoFar(
  items: readonly InputItem[],
  list: string,
  readImage: ImageReader,
): ChatMessage[] {
  const { messages, places } = readItems(items, list, readImage);
  withNames(itemNames(list, places), () => checkConversation(messages, { isPart: true }));
  return messages;
}

/** `places`: the paths of the messages from index `first` on. */
const itemNames = (list: string, places: readonly string[], first = 0): FieldNames => ({
  ...chatNames,
  messages: (at) => (at === undefined ? list : (places[at - first] ?? list)),
  call: (at = first) => `${places[at - first]}.call_id`,
});

/** An assistant message that further texts and calls may join. */
interface OpenAnswer {
  role: "assistant";
  content: string;
  toolCalls?: ToolCall[];
}

function readItems(items: readonly InputItem[], list: string, readImage: ImageReader) {
  const messages: ChatMessage[] = [];
  /** The path of the item that each message begins with. */
  const places: string[] = [];
  let answer: OpenAnswer | undefined;
  const ids = new Set<string>();
  // One count for all calls: many small arguments add up to a large one.
  const size = new JsonSize();
  const add = <Message extends ChatMessage>(message: Message, at: string): Message => {
    messages.push(message);
    places.push(at);
    answer = undefined;
    ids.clear();
    return message;
  };
  for (const [index, item] of items.entries()) {
    const at = `${list}[${index}]`;
    switch (item.type ?? "message") {
      case "message": {
        const message = readMessage(item, at, readImage);
        const { role, content } = message;
        if (role !== "assistant") add(message, at);
        else if (answer?.toolCalls !== undefined) answer.content += content;
        else answer = add({ role, content }, at);
        break;
      }
      case "function_call": {
        const call = readCall(item, at, size);
        if (ids.has(call.id)) {
          throw refuse(`${at}.call_id`, `${quoted(call.id)} is the id of another call`);
        }
        answer ??= add<OpenAnswer>({ role: "assistant", content: "" }, at);
        answer.toolCalls ??= [];
        answer.toolCalls.push(call);
        ids.add(call.id);
        break;
      }
      case "function_call_output":
        add(readOutput(item, at, readImage), at);
        break;
      case "reasoning": // Models are not shown their earlier thoughts.
      case "file_search_call": // What was found is found again, or remembered with its turn.
        break;
      default:
        throw refusedItem(item.type ?? "", at);
    }
  }
  return { messages, places };
}

function readMessage({ role, content }: InputItem, at: string, readImage: ImageReader) {
  const said = required(role, `${at}.role`, "'user', 'assistant', 'system' or 'developer'");
  const writer = said === "developer" ? "system" : said;
  const read = writer === "user" ? readImage : noImagesOf(writer);
  return { role: writer, ...readParts(content, `${at}.content`, partTypes, read) };
}

function readCall(
  { call_id: id, name, namespace, arguments: text }: InputItem,
  at: string,
  size: JsonSize,
): ToolCall {
  const callId = required(id, `${at}.call_id`, "a string");
  const called = required(textIn(name) || undefined, `${at}.name`, "the name of the function");
  const sent = required(textIn(text), `${at}.arguments`, "JSON, as a string");
  const complete = checkedArguments(sent, `${at}.arguments`, size);
  return { id: callId, name: modelName({ name: called, namespace }), arguments: complete };
}

const textIn = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

function readOutput(
  { call_id: id, output }: InputItem,
  at: string,
  readImage: ImageReader,
): ChatMessage {
  const toolCallId = required(id, `${at}.call_id`, "the call that this is the output of");
  const sent = outputCheck.Check(output) ? output : undefined;
  return { role: "tool", toolCallId, ...readParts(sent, `${at}.output`, partTypes, readImage) };
}

const outputCheck = TypeCompiler.Compile(T.Union([T.String(), T.Array(Part)]));

const partTypes: PartTypes<Part> = {
  readable: new Set(["input_text", "output_text", "text"]),
  names: new Map([
    ["input_audio", "audio"],
    ["input_file", "files; upload it to a vector store and send the tool 'file_search'"],
  ]),
  imageIn: ({ type, image_url: url, file_id: file, detail }) =>
    type === "input_image" ? { field: ".image_url", url, file, detail } : undefined,
};
