/** What becomes of vLLM's fields that are not in the schema: refused, or ignored and named. */
import { unknownKeys } from "../../middleware/ignored-fields.ts";
import { ignoredInFunctions, ignoredInMessages } from "../../wire/message-fields.ts";
import { refuseFields } from "../../wire/refused-fields.ts";
import { TokenizeRequest } from "./schema.ts";

/** The tokens without these would be others than those asked for. */
const refused = new Map([
  ["continue_final_message", "cannot be honoured: a conversation ends where the answer begins"],
  ["chat_template", "cannot be honoured: a model's template is the one of its configuration"],
  [
    "chat_template_kwargs",
    "cannot be honoured: a model's template is the one of its configuration",
  ],
  ["documents", "cannot be honoured: write them into 'messages'"],
]);

export function ignoredFields(body: TokenizeRequest): string[] {
  refuseFields(body, refused, { isAbsent: (value) => value === false });
  const inMessages = ignoredInMessages(body.messages ?? []);
  return [
    ...unknownKeys(body, [...Object.keys(TokenizeRequest.properties), ...refused.keys()]),
    ...ignoredInFunctions(body.tools ?? []),
    ...inMessages,
  ];
}
