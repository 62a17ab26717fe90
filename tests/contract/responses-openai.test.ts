import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import OpenAI, { APIError, BadRequestError } from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import {
  ResponseObject,
  ResponseStreamEvent,
} from "../../src/server/operations/responses/schema.ts";
import { nodesForClients } from "../support/front-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import type { TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
let client: OpenAI;

function connect(start: typeof tinyNode): void {
  beforeAll(async () => {
    node = await start();
    client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });
}

/** Chat's extension: the one answer is "A", as often as there is room for. */
const onlyA = { logit_bias: { 291: 100 } };
/** No white space between JSON's parts. */
const compact = { logit_bias: { 13: -100, 353: -100, 35: -100 } };
const model = "tiny-chat";
const asked = { model, input: "Light?", ...compact };

/** Whatever the weights, the arguments are one of these. */
const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.int().min(1).max(9) });

const light = {
  type: "function",
  name: "light",
  description: "Lights a lamp",
  strict: true,
  parameters: {
    type: "object",
    properties: { room: { enum: ["attic"] }, level: { type: "integer", minimum: 1, maximum: 9 } },
    required: ["room", "level"],
    additionalProperties: false,
  },
} satisfies OpenAI.Responses.FunctionTool;

/** Arguments that `light` allows. */
const lit = /^\{"room":"attic","level":[1-9]\}$/;

describe.each(nodesForClients)("the openai package's responses against %s", (_, start) => {
  connect(start);

  test("creates one from a text, cut by its length", async () => {
    const response = await client.responses.create({
      model,
      input: "Hello",
      instructions: "Say A.",
      max_output_tokens: 4,
      metadata: { project: "garden" },
      ...onlyA,
    });
    expect(response.output_text).toBe("AAAA");
    expect(response).toMatchObject({
      object: "response",
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      error: null,
      instructions: "Say A.",
      metadata: { project: "garden" },
      max_output_tokens: 4,
      usage: { output_tokens: 4, output_tokens_details: { reasoning_tokens: 0 } },
    });
    const { output_text: _, ...body } = response;
    expect(Value.Errors(ResponseObject, body).First()).toBeUndefined();
  });

  test("streams one whose events come in the API's order, and add up to the response", async () => {
    const stream = client.responses.stream({
      model,
      input: "Hello",
      max_output_tokens: 3,
      ...onlyA,
    });
    const events = await Array.fromAsync(stream);
    for (const event of events) {
      const wire =
        "response" in event ? { ...event, response: withoutText(event.response) } : event;
      expect([event.type, Value.Errors(ResponseStreamEvent, wireOf(wire)).First()]).toEqual([
        event.type,
        undefined,
      ]);
    }
    expect(events.map(({ sequence_number: number }) => number)).toEqual(
      events.map((_, index) => index),
    );
    const deltas = events.filter(({ type }) => type === "response.output_text.delta");
    // The first token comes at once, later ones may come together.
    expect([2, 3]).toContain(deltas.length);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      ...deltas.map(({ type }) => type),
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.incomplete",
    ]);
    const response = await stream.finalResponse();
    expect(response).toMatchObject({ status: "incomplete", output_text: "AAA" });
  });

  test("calls the function that it names, with arguments by its schema, also in a stream", async () => {
    const request = {
      ...asked,
      tools: [light, { type: "function", name: "dark", parameters: null, strict: true }],
      tool_choice: { type: "function", name: "light" },
    } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const call = {
      type: "function_call" as const,
      id: expect.stringMatching(/^fc_/),
      call_id: expect.stringMatching(/^call_/),
      name: "light",
      arguments: expect.stringMatching(lit),
      status: "completed" as const,
    };
    expect((await client.responses.create(request)).output).toEqual([call]);
    const stream = client.responses.stream(request);
    const events = await Array.fromAsync(stream);
    const grown = events.flatMap((event) =>
      event.type === "response.function_call_arguments.delta" ? [event.delta] : [],
    );
    const { output } = await stream.finalResponse();
    expect(output).toEqual([{ ...call, parsed_arguments: expect.any(Object) }]);
    expect(grown.length).toBeGreaterThan(1);
    expect(output).toMatchObject([{ arguments: grown.join("") }]);
    expect(events.map(({ type }) => type).filter((type) => !type.endsWith("delta"))).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  test("gets a text after a call and its output, over several turns of items", async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Light?" }];
    const called = await client.responses.create({
      ...asked,
      input,
      tools: [light],
      tool_choice: "required",
    });
    for (const item of called.output) {
      if (item.type !== "function_call") continue;
      input.push(item, { type: "function_call_output", call_id: item.call_id, output: "lit" });
    }
    const told = await client.responses.create({
      model,
      input,
      max_output_tokens: 4,
      ...onlyA,
    });
    expect(told.output_text).toBe("AAAA");
    for (const item of told.output) if (item.type === "message") input.push(item);
    input.push({
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "Again?" }],
    });
    const again = await client.responses.create({
      model,
      input,
      max_output_tokens: 2,
      ...onlyA,
    });
    expect(again.output_text).toBe("AA");
    expect(again.usage?.input_tokens).toBeGreaterThan(told.usage?.input_tokens ?? 9999);
  });

  test("calls none but the allowed functions", async () => {
    const { output } = await client.responses.create({
      ...asked,
      tools: [{ type: "function", name: "dark", parameters: null, strict: true }, light],
      tool_choice: {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "light" }],
      },
    });
    expect(output).toMatchObject([{ type: "function_call", name: "light" }]);
  });

  test("parses a text by a zod schema, and the arguments of a zod function", async () => {
    const parsed = await client.responses.parse({
      ...asked,
      text: { format: zodTextFormat(Lamp, "lamp") },
    });
    expect(parsed.status).toBe("completed");
    expect(Lamp.safeParse(parsed.output_parsed).success).toBe(true);
    const called = await client.responses.parse({
      ...asked,
      tools: [zodResponsesFunction({ name: "light", parameters: Lamp })],
      tool_choice: "required",
    });
    const [call] = called.output;
    if (call?.type !== "function_call") throw new Error("The response has no call");
    expect(Lamp.safeParse(call.parsed_arguments).success).toBe(true);
  });

  test("reports log probabilities where they are included", async () => {
    const request = {
      model,
      input: "Hello",
      max_output_tokens: 3,
      temperature: 0,
      top_logprobs: 2,
      include: ["message.output_text.logprobs"],
      logit_bias: { 291: 100, 292: 100 },
    } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming & { logit_bias: object };
    const { output } = await client.responses.create(request);
    const [message] = output;
    if (message?.type !== "message" || message.content[0]?.type !== "output_text") {
      throw new Error("The response has no text");
    }
    const [{ text, logprobs }] = [message.content[0]];
    expect(logprobs?.map(({ token }) => token).join("")).toBe(text);
    for (const { top_logprobs: top } of logprobs ?? []) expect(top).toHaveLength(2);
  });

  test("learns the field at fault by its name here, before a stream begins", async () => {
    const schema = { type: "object", properties: { a: { not: { type: "string" } } } };
    const odd = {
      ...asked,
      text: { format: { type: "json_schema", name: "odd", schema } },
    } as const;
    for (const stream of [false, true]) {
      expect(await rejectionOf(client.responses.create({ ...odd, stream }))).toMatchObject({
        constructor: BadRequestError,
        param: "text.format.schema",
        message: expect.stringContaining("text.format.schema"),
      });
      const long = client.responses.create({ model, input: "x".repeat(3000), stream });
      expect(await rejectionOf(long)).toMatchObject({
        constructor: BadRequestError,
        code: "context_length_exceeded",
        param: "input",
      });
    }
  });

  test("fits a conversation that is too long by truncation, and says how much is left out", async () => {
    const turns = Array.from({ length: 30 }, (_, at) => [
      { role: "user" as const, content: `Question ${at}: ${"x".repeat(60)}` },
      { role: "assistant" as const, content: "y".repeat(60) },
    ]).flat();
    const request = {
      model,
      input: [...turns, { role: "user" as const, content: "And now?" }],
      max_output_tokens: 2,
      ...onlyA,
    };
    expect(await rejectionOf(client.responses.create(request))).toBeInstanceOf(APIError);
    const response = await client.responses.create({ ...request, truncation: "auto" });
    expect(response.output_text).toBe("AA");
    expect(response).toMatchObject({ truncation: "auto", truncated_messages: expect.any(Number) });
  });
});

const withoutText = ({ output_text: _, ...response }: { output_text?: string }): object => response;

/** As it came: the package adds what it parsed. */
const wireOf = (event: object): unknown =>
  JSON.parse(
    JSON.stringify(event, (key, value) =>
      key === "parsed" ||
      key === "parsed_arguments" ||
      key === "output_parsed" ||
      key === "snapshot"
        ? undefined
        : value,
    ),
  );
