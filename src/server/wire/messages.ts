/** Converts OpenAI's chat messages and function tools to the domain's. */
import type { Static } from "@sinclair/typebox";
import { checkConversation } from "../../core/chat/conversation.ts";
import { excessText, JsonSize } from "../../core/json-size.ts";
import type { ChatMessage, Tool } from "../../core/ports/chat-engine.ts";
import { quoted } from "../../core/quoted.ts";
import { chatNames, withNames } from "./field-names.ts";
import { refuse, required, withoutNulls } from "./fields.ts";
import { type ImageReader, MixedContent, noImages, noImagesOf, type SentImage } from "./images.ts";
import type { FunctionTool, Message, Part } from "./message-schema.ts";

/** `readImage`: how images are read; default: they are rejected. */
export function toChatMessages(
  sent: readonly Message[],
  readImage: ImageReader = noImages,
): ChatMessage[] {
  // One count for all calls: many small arguments add up to a large one.
  const size = new JsonSize();
  const messages = withToolCalls(sent).map((message, index) =>
    toChatMessage(message, `messages[${index}]`, size, readImage),
  );
  withNames(chatNames, () => checkConversation(messages));
  return messages;
}

function toChatMessage(
  message: Message,
  at: string,
  size: JsonSize,
  readImage: ImageReader,
): ChatMessage {
  const { role, content, tool_calls: calls, tool_call_id: id } = message;
  if (calls?.length && role !== "assistant") {
    throw refuse(`${at}.tool_calls`, "is for messages with the role 'assistant'");
  }
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(content, at, "system") };
    case "user":
      return { role, ...readParts(content, `${at}.content`, partTypes, readImage) };
    case "assistant": {
      if (!calls?.length) return { role, content: textOf(content, at, role) };
      const text = content === null || content === undefined ? "" : textOf(content, at, role);
      const toolCalls = calls.map(({ id, function: { name, arguments: sent } }, n) => {
        const place = `${at}.tool_calls[${n}].function.arguments`;
        return { id, name, arguments: checkedArguments(sent, place, size) };
      });
      return { role, content: text, toolCalls };
    }
    case "function":
    case "tool":
      if (id === null || id === undefined) {
        throw refuse(`${at}.tool_call_id`, "is required for a message with the role 'tool'");
      }
      return {
        ...{ role: "tool", toolCallId: id },
        ...readParts(content, `${at}.content`, partTypes, readImage),
      };
  }
}

/** Converts the older `function_call` messages, with one call at a time, to `tool_calls`. */
function withToolCalls(sent: readonly Message[]): readonly Message[] {
  if (!sent.some(({ role, function_call: call }) => role === "function" || call)) return sent;
  return sent.map(({ function_call: call, ...message }, index): Message => {
    if (message.role === "function") {
      if (!sent[index - 1]?.function_call) {
        throw refuse(
          `messages[${index}].role`,
          "is 'function', and the message before it has no 'function_call'",
        );
      }
      return { ...message, role: "tool", tool_call_id: olderCallId(index - 1) };
    }
    if (!call) return message;
    if (message.tool_calls?.length) {
      throw refuse(`messages[${index}].function_call`, "cannot be used with 'tool_calls'");
    }
    const tool_calls = [{ id: olderCallId(index), type: "function", function: call } as const];
    return { ...message, tool_calls };
  });
}

/** The older form has no call ids, so the message's index identifies the call. */
const olderCallId = (index: number): string => `call_${index}`;

/** Checks that a call's arguments are JSON of an allowed size; `size` counts all calls. */
export function checkedArguments(text: string, param: string, size: JsonSize): string {
  const complete = text === "" ? "{}" : text;
  const excess = size.add(Buffer.from(complete));
  if (excess !== undefined) throw refuse(param, excessText[excess.what]);
  try {
    JSON.parse(complete);
  } catch {
    throw refuse(param, "is not JSON");
  }
  return complete;
}

const partTypes: PartTypes<Part> = {
  readable: new Set(["text"]),
  names: new Map([
    ["input_audio", "audio"],
    ["file", "files"],
  ]),
  imageIn: ({ type, image_url: image }) =>
    type === "image_url" ? { field: ".image_url.url", ...image } : undefined,
};

const textOf = (content: Message["content"], at: string, role: ChatMessage["role"]): string =>
  readParts(content, `${at}.content`, partTypes, noImagesOf(role)).content;

interface TextPart {
  type: string;
  text?: string;
  refusal?: string;
}

/** An API's types of content parts. */
export interface PartTypes<Part extends TextPart> {
  readable: ReadonlySet<string>;
  /** What the types hold that are rejected, for the error message. */
  names: ReadonlyMap<string, string>;
  /** The image of a part; undefined if it is of another type. */
  imageIn: (part: Part) => SentImage | undefined;
}

/** The joined text of the parts, and their images; rejects other parts. `at`: the content's path. */
export function readParts<Part extends TextPart>(
  content: string | readonly Part[] | null | undefined,
  at: string,
  { readable, names, imageIn }: PartTypes<Part>,
  readImage: ImageReader,
) {
  const sent = required(content, at, "a string or a list of content parts");
  const mixed = new MixedContent();
  if (typeof sent === "string") return { content: sent };
  for (const [index, part] of sent.entries()) {
    const { type, text, refusal } = part;
    const param = `${at}[${index}]`;
    const image = imageIn(part);
    if (image !== undefined) mixed.addImage(readImage(image, param));
    else if (type === "refusal" && refusal !== undefined) mixed.addText(refusal);
    else if (readable.has(type)) mixed.addText(required(text, `${param}.text`, "a string"));
    else {
      const what = names.get(type) ?? `parts of type ${quoted(type)}`;
      throw refuse(param, `has the type ${quoted(type)}: this node's models read no ${what}`);
    }
  }
  return mixed.read;
}

type SentFunction = Static<typeof FunctionTool>["function"];

export const toTool = ({ name, description, parameters }: SentFunction): Tool => ({
  name,
  ...withoutNulls({ description, parameters }),
});
