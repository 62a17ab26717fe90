/** What becomes of fields of messages and functions that the schemas do not have: accepted, refused, or ignored and named. */
import { under, unknownKeys } from "../middleware/ignored-fields.ts";
import { refuseFields } from "./refused-fields.ts";

/** Those of the schema, and what clients send back of an earlier answer. */
const messageFields = [
  ...["role", "content", "tool_calls", "tool_call_id", "function_call"],
  ...["annotations", "refusal", "reasoning_content"],
];
/** It names the function, and is always about the call before it. */
const functionResult = [...messageFields, "name"];
const functionFields = ["name", "description", "parameters", "strict"];

/** Without these the conversation would be another one. */
const refused = new Map([["audio", "cannot be honoured: this node's models read text only"]]);

/** Refuses what would change the meaning; returns the places of the fields that are not acted on. */
export function ignoredInMessages(messages: readonly { role: string }[]): string[] {
  for (const [index, message] of messages.entries()) {
    refuseFields(message, refused, { at: `messages[${index}]` });
  }
  return messages.flatMap((message, index) =>
    unknownKeys(message, message.role === "function" ? functionResult : messageFields).map(
      under(`messages[${index}]`),
    ),
  );
}

/** In the older form of tools. */
export const ignoredInOlder = (functions: readonly object[]): string[] =>
  functions.flatMap((one, index) =>
    unknownKeys(one, functionFields).map(under(`functions[${index}]`)),
  );

export function ignoredInFunctions(tools: readonly { function: object }[]): string[] {
  return tools.flatMap(({ function: one }, index) =>
    unknownKeys(one, functionFields).map(under(`tools[${index}].function`)),
  );
}
