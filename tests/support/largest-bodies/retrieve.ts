/** Bodies of /v1/retrieve. */
import { asked, conversation, said } from "./conversations.ts";
import { nestedFilter } from "./filters.ts";
import { bytes, mostMessages, share, text, upTo, values } from "./parts.ts";

const retrieve = (rest: string): string => `{"model":"tiny-embedding",${rest}}`;

export const retrieveBodies: Record<string, () => string> = {
  "one text": () => retrieve(asked(`"${text(bytes)}"`)),
  "a long conversation": () => retrieve(conversation(mostMessages - 1, share)),
  "messages that are none": () => retrieve(`"messages":[${upTo(values, "true")}]`),
  "collections that are none": () => retrieve(`${said},"collection":[${upTo(values, '"x"')}]`),
  "nested filters": () => retrieve(`${said},"filters":${nestedFilter(100)}`),
  "a limit of all digits": () => retrieve(`${said},"limit":${"9".repeat(bytes)}`),
};
