/** Files that are ingested while the server of the embedding model fails. */
import { expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import { runningDocuments } from "../support/running-documents.ts";
import { waitFor } from "../support/wait-for.ts";

test.each(["upstream_failed", "upstream_refused"] as const)(
  "wait where it fails at every text (%s), and are ingested once it embeds again",
  async (kind) => {
    await using running = await runningDocuments();
    const { app, client } = running;
    app.embedding.line = async () => {
      throw new NodeError(kind, "The server of the model failed (status 500).");
    };
    const { id: store } = await client.store();
    const id = await client.file("llamas hum");
    await client.add(store, { file_id: id });
    await waitFor("it to be tried", async () => {
      const { status, last_error: error } = await client.getFile(store, id);
      return status !== "in_progress" || error !== null;
    });
    expect(await client.getFile(store, id)).toMatchObject({
      status: "in_progress",
      last_error: { code: "server_error", message: "The server of the model failed (status 500)." },
    });
    app.embedding.line = async () => {};
    expect(await client.settled(store, id)).toMatchObject({ status: "completed" });
  },
);

test("fail after three tries where it fails at this text alone, and hold up no others", async () => {
  await using running = await runningDocuments();
  const { app, client } = running;
  const embed = app.embedding.embed.bind(app.embedding);
  let tries = 0;
  app.embedding.embed = async (inputs, options) => {
    if (!inputs.some((input) => String(input).includes("poison"))) {
      return await embed(inputs, options);
    }
    tries++;
    throw new NodeError("upstream_failed", "The server of the model failed (status 500).");
  };
  const { id: store } = await client.store();
  const [bad, good] = [await client.file("poison"), await client.file("llamas hum")];
  await client.add(store, { file_id: bad });
  await client.add(store, { file_id: good });
  expect(await client.settled(store, bad)).toMatchObject({ status: "failed" });
  expect(tries).toBe(3);
  expect(await client.settled(store, good)).toMatchObject({ status: "completed" });
});
