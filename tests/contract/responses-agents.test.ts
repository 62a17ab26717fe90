import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  Agent,
  handoff,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
let model: OpenAIResponsesModel;

beforeAll(async () => {
  setTracingDisabled(true);
  node = await tinyNode();
  const client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
  model = new OpenAIResponsesModel(client, "tiny-chat");
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Whatever the weights, the arguments are one of these. */
const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.enum(["low", "high"]) });
const asked: unknown[] = [];
const light = tool({
  name: "light",
  description: "Lights a lamp",
  parameters: Lamp,
  execute: (lamp) => {
    asked.push(lamp);
    return "lit";
  },
});

/** There is one answer by this schema. */
const Done = z.object({ said: z.enum(["done"]) });

describe("OpenAI's Agents SDK against a listening node", () => {
  const runner = () => new Runner({ tracingDisabled: true });

  test("runs an agent to its final output", async () => {
    const agent = new Agent({ name: "plain", instructions: "Be brief.", model, outputType: Done });
    const { finalOutput, rawResponses } = await runner().run(agent, "Hello");
    expect(finalOutput).toEqual({ said: "done" });
    expect(rawResponses[0]?.usage.outputTokens).toBeGreaterThan(0);
  });

  test("calls a tool with arguments by its schema", async () => {
    asked.length = 0;
    const agent = new Agent({
      name: "lamps",
      model,
      tools: [light],
      modelSettings: { toolChoice: "required" },
      toolUseBehavior: "stop_on_first_tool",
    });
    const { finalOutput } = await runner().run(agent, "Light?");
    expect(asked.map((lamp) => Lamp.safeParse(lamp).success)).toEqual([true]);
    expect(finalOutput).toBe("lit");
  });

  test("hands off to another agent, which goes on from the call and its output", async () => {
    const answering = new Agent({ name: "answering", model, outputType: Done });
    const triage = Agent.create({
      name: "triage",
      model,
      handoffs: [handoff(answering)],
      modelSettings: { toolChoice: "required" },
    });
    const { finalOutput, lastAgent } = await runner().run(triage, "Hello");
    expect(lastAgent?.name).toBe("answering");
    expect(finalOutput).toEqual({ said: "done" });
  });

  test("streams a run, and answers by a schema", async () => {
    const agent = new Agent({ name: "formed", model, outputType: Lamp });
    const run = await runner().run(agent, "Light?", { stream: true });
    const deltas: string[] = [];
    for await (const event of run) {
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") {
        deltas.push(event.data.delta);
      }
    }
    expect(deltas.length).toBeGreaterThan(1);
    expect(Lamp.parse(run.finalOutput)).toEqual(JSON.parse(deltas.join("")));
  });
});
