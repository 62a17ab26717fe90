import { expect, test } from "bun:test";
import { OutputWriter } from "../../../../../src/server/operations/responses/output.ts";

test("calls that are written into each other are a failure of who wrote them", () => {
  const writer = new OutputWriter({
    itemId: (kind, index) => `${kind}_${index}`,
    wireName: (name) => ({ name }),
    annotate: () => [],
    withLogprobs: false,
  });
  for (const index of [0, 1]) {
    writer.take({ type: "tool-call", index, id: `call_${index}`, name: "look" });
  }
  expect(() => writer.take({ type: "tool-arguments", index: 0, text: "{}" })).toThrow(
    expect.objectContaining({
      kind: "upstream_failed",
      message: "The server that runs the model mixed the arguments of two tool calls.",
    }),
  );
});
