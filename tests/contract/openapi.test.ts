import { expect, test } from "bun:test";
import { documentFile, openapiDocument } from "../../scripts/openapi.ts";

test("openapi/openapi.json is what the routes describe (`bun run openapi` writes it)", async () => {
  expect(await Bun.file(documentFile).text()).toBe(await openapiDocument());
});
