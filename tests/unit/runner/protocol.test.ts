import { expect, test } from "bun:test";
import { type Call, deserialize, serialize } from "../../../src/runner/protocol.ts";
import { greedy } from "../../support/greedy.ts";

test.each<Call>([
  { type: "count-chat", messages: [{ role: "user", content: "\u0000 \ud800 ж" }] },
  {
    type: "generate",
    caller: "ada",
    request: {
      messages: [{ role: "user", content: "a" }],
      sampling: greedy,
      seed: Number.MIN_SAFE_INTEGER,
      logitBias: new Map([
        [0, -100],
        [7, 0.5],
      ]),
      format: { schema: { enum: [1, null, "x", { logitBias: 1 }] } },
    },
  },
  { type: "generate", request: { messages: [], sampling: greedy } },
  { type: "embed", inputs: ["a", [1, 2]] },
  { type: "rank", question: "q", passages: ["p"] },
])("a call arrives as it was sent (%#)", (call) => {
  expect(deserialize(serialize(call))).toEqual(call);
});
