import { expect, test } from "bun:test";
import { RefusedText } from "../../../src/core/documents/ingest-failure.ts";
import { NodeError } from "../../../src/core/errors.ts";
import { engineFor } from "../../../src/ingest/blame.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { ScriptedEmbeddingEngine } from "../../support/scripted-engines.ts";

const { signal } = new AbortController();

test.each([
  ["a second try speaks against the file", "unavailable", true, true],
  ["a first try says nothing", "unavailable", false, false],
  ["a limit that is used up says nothing", "too_many_requests", true, false],
] as const)(
  "where a server answers nothing any more from a text on, %s",
  async (_, kind, hasWaited, isBlamed) => {
    const scripted = new ScriptedEmbeddingEngine();
    const embed = scripted.embed.bind(scripted);
    let isAway = false;
    scripted.embed = async (inputs, options) => {
      isAway ||= inputs.includes("poison");
      if (isAway) throw new NodeError(kind, "It is not ready.");
      return await embed(inputs, options);
    };
    const engine = await engineFor(scripted, { hasWaited, signal });
    const refusal = await rejectionOf(engine.embed(["poison"], { signal }));
    expect(refusal).toMatchObject({ kind });
    expect(refusal instanceof RefusedText).toBe(isBlamed);
  },
);
