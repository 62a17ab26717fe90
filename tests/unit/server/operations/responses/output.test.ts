import { expect, test } from "bun:test";
import type { ChatAnswer } from "../../../../../src/core/chat/chat-service.ts";
import { responseExample } from "../../../../../src/server/operations/responses/operation.ts";
import { ResponseRun } from "../../../../../src/server/operations/responses/output.ts";

async function* mixedCalls(): ChatAnswer["events"] {
  for (const call of [0, 1]) {
    const id = `call_${call}`;
    yield { index: 0, value: { type: "tool-call", index: call, id, name: "look" } };
  }
  yield { index: 0, value: { type: "tool-arguments", index: 0, text: "{}" } };
}

test("calls that are written into each other are a failure of who wrote them", async () => {
  const run = new ResponseRun(
    responseExample,
    { events: mixedCalls() },
    {
      itemId: (kind, index) => `${kind}_${index}`,
      wireName: (name) => ({ name }),
      annotate: () => [],
      withLogprobs: false,
      search: undefined,
      settle: async (response) => response,
    },
  );
  await expect(run.whole()).rejects.toMatchObject({
    kind: "upstream_failed",
    message: "The server that runs the model mixed the arguments of two tool calls.",
  });
});
