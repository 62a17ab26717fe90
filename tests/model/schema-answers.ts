/** Answers of the tiny model that are held to a JSON Schema, and Ajv to judge them. */

import { afterAll, beforeAll, expect } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { ChatModel } from "../../src/core/models/model.ts";
import { greedy } from "../support/greedy.ts";
import { neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";

export const ajv = new Ajv({ strict: false });
addFormats(ajv);
const parallel = 4;
let model: ChatModel;

/** Loads the model for the tests of the file that calls it. */
export function useTinyModel(): void {
  beforeAll(async () => {
    model = await tinyChatModel({ parallel, settings: { ...neutralSettings, ctxSize: 1024 } });
  });
  afterAll(async () => {
    await model[Symbol.asyncDispose]();
  });
}

/** Favours what closes strings, lists and objects, so that a random model comes to an end. */
const closing = favour([4, '"', "]", "}"]);

/** Raises the logits of characters' tokens in the tiny vocabulary. */
export function favour(...raised: [by: number, ...characters: string[]][]): Map<number, number> {
  return new Map(
    raised.flatMap(([by, ...characters]) =>
      characters.map((character) => [3 + 256 + character.charCodeAt(0) - 33, by] as const),
    ),
  );
}

export async function generate(
  schema: unknown,
  seed: number,
  logitBias = closing,
  maxTokens = 600,
) {
  const { signal } = new AbortController();
  let text = "";
  let reason = "none";
  const request = {
    messages: [{ role: "user", content: "Go" }] as const,
    sampling: { ...greedy, temperature: 1.5 },
    maxTokens,
    seed,
    logitBias,
    format: { schema },
  };
  for await (const event of model.engine.generate(request, { signal })) {
    if (event.type === "text") text += event.text;
    if (event.type === "finish") reason = event.reason;
  }
  return { text, reason };
}

/** Several answers, each of which must be finished JSON that validates. */
export async function expectToHold(schema: object | boolean): Promise<unknown[]> {
  const validate = ajv.compile(schema);
  const answers = await Promise.all(
    Array.from({ length: parallel }, (_, at) => generate(schema, at + 1)),
  );
  return answers.map(({ text, reason }) => {
    expect({ text, reason }).toEqual({ text, reason: "stop" });
    const value: unknown = JSON.parse(text);
    expect({ value, valid: validate(value) }).toEqual({ value, valid: true });
    return value;
  });
}
