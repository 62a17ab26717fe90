/** A client of few lines: instructor. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import createInstructor from "@instructor-ai/instructor";
import OpenAI from "openai";
// Its schemas are those of the version before.
import { z } from "zod/v3";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;

beforeAll(async () => {
  node = await tinyNode();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Whatever the weights, an answer by this schema is one of these. */
const Lamp = z.object({ room: z.enum(["attic", "cellar"]), level: z.enum(["low", "high"]) });

describe("instructor against a listening node", () => {
  test.each(["TOOLS", "JSON_SCHEMA", "FUNCTIONS"] as const)(
    "gets an answer that is held to its schema, in mode %s",
    async (mode) => {
      const client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
      const instructor = createInstructor({ client, mode });
      const lamp = await instructor.chat.completions.create({
        model: "tiny-chat",
        messages: [{ role: "user", content: "Light?" }],
        response_model: { schema: Lamp, name: "Lamp" },
        max_retries: 0,
      });
      expect(Lamp.safeParse(lamp).success).toBe(true);
    },
  );
});
