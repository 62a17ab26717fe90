/** Requests that are small, and refer to the most that can be kept. */

export interface LargeReferences {
  /** What is referred to. */
  what: string;
  /** The inputs of responses that are kept before. */
  kept: () => string[];
  /** The request, of the kept responses' ids. */
  body: (ids: readonly string[]) => string;
}

const mostMessages = 2048;
/** A response is kept with its conversation, of 8 MiB in all unless configured. */
const bytes = 7 * 1024 * 1024;
const user = '{"role":"user","content":"a"}';

const times = (count: number, item: string | ((at: number) => string)): string =>
  Array.from({ length: count }, (_, at) => (typeof item === "string" ? item : item(at))).join();
const thoughts = (length: number): string =>
  `{"type":"reasoning","summary":[],"encrypted_content":"${"x".repeat(length)}"}`;
const emptyParts = `{"role":"user","content":[${times(45_000, '{"type":"input_text","text":""}')}]}`;
const hexOf = (id: string | undefined): string => (id ?? "").slice("resp_".length);
const refer = (kind: string, id: string | undefined, at = 0): string =>
  `{"type":"item_reference","id":"${kind}_${hexOf(id)}_in${at}"}`;
const respond = (items: string, more = ""): string =>
  `{"model":"tiny-chat","max_output_tokens":1${more},"input":[${user},${items}]}`;

export const largestReferences: readonly LargeReferences[] = [
  {
    what: "one large item again and again",
    kept: () => [`[${thoughts(bytes)},${user}]`],
    body: ([id]) => respond(times(mostMessages - 1, refer("rs", id))),
  },
  {
    what: "one large item again and again, in the background",
    kept: () => [`[${thoughts(bytes)},${user}]`],
    body: ([id]) => respond(times(mostMessages - 1, refer("rs", id)), ',"background":true'),
  },
  {
    what: "many parts again and again",
    kept: () => [`[${emptyParts},${user}]`],
    body: ([id]) => respond(times(mostMessages - 1, refer("msg", id))),
  },
  {
    what: "all items of a response",
    kept: () => [`[${times(mostMessages - 1, thoughts(bytes / mostMessages - 64))},${user}]`],
    body: ([id]) => respond(times(mostMessages - 1, (at) => refer("rs", id, at))),
  },
  {
    what: "large items of several responses",
    kept: () => [1, 2, 3].map(() => `[${thoughts(bytes)},${user}]`),
    body: (ids) => respond(times(ids.length, (at) => refer("rs", ids[at]))),
  },
  {
    what: "many parts of several responses",
    kept: () => [1, 2, 3].map(() => `[${emptyParts},${user}]`),
    body: (ids) => respond(times(ids.length, (at) => refer("msg", ids[at]))),
  },
];
