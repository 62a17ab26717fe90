import { expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import { type FieldNames, renameFields } from "../../../../src/server/wire/field-names.ts";
import { rejectionOf } from "../../../support/rejection.ts";

async function* failing(error: Error): AsyncGenerator<number> {
  yield 1;
  throw error;
}

const names: FieldNames = [
  [/\btools\[(\d+)\]\.function\.parameters/g, "tools[$1].input_schema"],
  [/\bresponse_format\b/g, "output_config.format"],
];

const rejection = (error: Error) =>
  rejectionOf(Array.fromAsync(renameFields(failing(error), names)));

test.each([
  ["tools[2].function.parameters.properties.a", "tools[2].input_schema.properties.a"],
  ["response_format.$ref", "output_config.format.$ref"],
  ["response_format", "output_config.format"],
])("the field %s is called %s", async (theirs, ours) => {
  const error = new NodeError("invalid_request", `${theirs}: The schema is odd.`, {
    param: theirs,
  });
  expect(await rejection(error)).toMatchObject({
    kind: "invalid_request",
    message: `${ours}: The schema is odd.`,
    param: ours,
  });
});

test("an error that names other fields, or none, stays as it is", async () => {
  for (const error of [
    new NodeError("context_length_exceeded", "Too long.", { param: "messages" }),
    new NodeError("unavailable", "Away."),
    new Error("odd"),
  ]) {
    expect(await rejection(error)).toBe(error);
  }
});
