/** Files that are ingested while the server of the embedding model fails. */
import { expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import { engineEnvironment } from "../../src/subprocess/program.ts";
import { documentsClient } from "../support/documents-client.ts";
import { front, frontModel } from "../support/front-of-servers.ts";
import { programUnderTest } from "../support/paddock-process.ts";
import { recordedTei } from "../support/recorded-tei.ts";
import { runningDocuments } from "../support/running-documents.ts";
import { waitFor } from "../support/wait-for.ts";

test.each(["upstream_failed", "upstream_refused", "invalid_request", "payload_too_large"] as const)(
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

test("wait for nothing where one of two replicas is silent about every text", async () => {
  await using running = await runningDocuments();
  const { app, client } = running;
  const embed = app.embedding.embed.bind(app.embedding);
  let asked = 0;
  app.embedding.embed = async (inputs, options) => {
    // The replica that is on trial again, and then the other one.
    if (asked++ % 2 === 0) throw new NodeError("timeout", "The server gave no answer for 2 s.");
    return await embed(inputs, options);
  };
  const { id: store } = await client.store();
  const id = await client.file("llamas hum");
  await client.add(store, { file_id: id });
  expect(await client.settled(store, id)).toMatchObject({ status: "completed" });
  expect(asked).toBe(2);
});

/** As the engine of an upstream model throws it. */
const brokenOff = () =>
  new NodeError("unavailable", "The server of the model cannot be reached: it broke off.", {
    cause: new Error("it broke off"),
  });

/** The same for the 502 of a proxy. */
const badGateway = () =>
  new NodeError("upstream_failed", "The server of the model failed (status 502).", {
    cause: new Error("status 502"),
  });

test.each([
  // In each try twice, since it may be one replica of several.
  ["gives no answer", () => new NodeError("timeout", "The server gave no answer for 2 s."), 6],
  ["ends", brokenOff, 4],
  ["ends behind a proxy", badGateway, 4],
] as const)(
  "fail where the server %s at this text alone, and hold up no others",
  async (how, error, asked) => {
    await using running = await runningDocuments();
    const { app, client } = running;
    const embed = app.embedding.embed.bind(app.embedding);
    let tries = 0;
    let awayUntil = 0;
    app.embedding.embed = async (inputs, options) => {
      if (performance.now() < awayUntil) throw error();
      if (!inputs.some((input) => String(input).includes("poison"))) {
        return await embed(inputs, options);
      }
      tries++;
      if (how !== "gives no answer") awayUntil = performance.now() + 500;
      throw error();
    };
    const { id: store } = await client.store();
    const [bad, good] = [await client.file("poison"), await client.file("llamas hum")];
    await client.add(store, { file_id: bad });
    await client.add(store, { file_id: good });
    await waitFor(
      "the file to fail",
      async () => (await client.getFile(store, bad)).status === "failed",
      20,
    );
    expect(tries).toBe(asked);
    expect(await client.settled(store, good)).toMatchObject({ status: "completed" });
  },
  30_000,
);

test("fail at no single error after a time in which the server was away", async () => {
  await using running = await runningDocuments();
  const { app, client } = running;
  const embed = app.embedding.embed.bind(app.embedding);
  let asked = 0;
  app.embedding.embed = async (inputs, options) => {
    const isFile = inputs.some((input) => String(input).includes("llamas"));
    asked++;
    // Away for two tries of the file, each with a plain text or after one.
    if (asked <= 3) throw brokenOff();
    if (isFile && ++errors === 1) {
      throw new NodeError("upstream_failed", "The server of the model failed (status 500).");
    }
    return await embed(inputs, options);
  };
  let errors = 0;
  const { id: store } = await client.store();
  const id = await client.file("llamas hum");
  await client.add(store, { file_id: id });
  await waitFor(
    "it to be settled",
    async () => (await client.getFile(store, id)).status !== "in_progress",
    20,
  );
  expect(await client.getFile(store, id)).toMatchObject({ status: "completed" });
  expect(errors).toBe(2);
}, 30_000);

test("say so where the server puts off, fails at or breaks off at this text alone, and are ingested once it embeds it", async () => {
  await using running = await runningDocuments();
  const { app, client } = running;
  const embed = app.embedding.embed.bind(app.embedding);
  const errors = [
    new NodeError("too_many_requests", "The server is asked for too much."),
    new NodeError("upstream_failed", "The server failed (status 500)."),
    brokenOff(),
  ];
  const tries = errors.map(() => 0);
  app.embedding.embed = async (inputs, options) => {
    const at = errors.findIndex((_, at) => inputs.some((each) => String(each) === `poison ${at}`));
    const error = errors[at];
    tries[at] = (tries[at] ?? 0) + 1;
    if (error !== undefined && tries[at] <= 4) throw error;
    return await embed(inputs, options);
  };
  const added = errors.map(async ({ message }, at) => {
    const { id: store } = await client.store();
    const file = await client.file(`poison ${at}`);
    await client.add(store, { file_id: file });
    return { store, file, message: `${message} It embeds other texts, and not this file's.` };
  });
  for (const { store, file, message } of await Promise.all(added)) {
    const look = () => client.getFile(store, file);
    await waitFor("it to wait", async () => (await look()).last_error !== null);
    const error = { code: "server_error", message };
    expect(await look()).toMatchObject({ status: "in_progress", last_error: error });
  }
  for (const { store, file } of await Promise.all(added)) {
    const look = () => client.getFile(store, file);
    await waitFor("it to be settled", async () => (await look()).status !== "in_progress", 20);
    expect(await look()).toMatchObject({ status: "completed" });
  }
}, 30_000);

test("are cut again where the server was started again with a smaller context", async () => {
  let limit = 512;
  await using server = recordedTei({ limit: () => limit });
  await using node = await front(frontModel("embedding", server.url), {
    program: { command: programUnderTest, env: engineEnvironment(process.env) },
  });
  await node.prepare();
  const client = documentsClient(node);
  const { id: store } = await client.store();
  const chunks = { max_chunk_size_tokens: 400, chunk_overlap_tokens: 200 };
  const chunking_strategy = { type: "static", static: chunks };
  limit = 100;
  const text = Array.from({ length: 2000 }, (_, at) => `llama${at}`).join(" ");
  const id = await client.file(text);
  await client.add(store, { file_id: id, chunking_strategy });
  const { status, passages } = await client.settled(store, id);
  expect(status).toBe("completed");
  expect(passages).toBeGreaterThan(20);
}, 30_000);
