import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type AnswerPiece, answerPieces } from "../../../src/cli/remote-server.ts";
import { frame, streamOf } from "../../support/openai-server.ts";
import { rejectionOf } from "../../support/rejection.ts";

const piecesIn = (...cut: (string | Uint8Array)[]): Promise<AnswerPiece[]> =>
  Array.fromAsync(answerPieces(streamOf(cut).body, new AbortController().signal));

async function textIn(...cut: (string | Uint8Array)[]): Promise<string> {
  return (await piecesIn(...cut)).map(({ text }) => text).join("");
}

const done = "data: [DONE]\n\n";

describe("a streamed answer", () => {
  test("is the same wherever its bytes are cut", async () => {
    const stream = new TextEncoder().encode(
      `: a comment\n\n${frame("Füße 👣 ")}event: message\r\n${frame("und Köpfe", "stop")}${done}`,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(stream.length), { maxLength: 12 }), async (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const pieces = places.slice(1).map((end, at) => stream.slice(places[at], end));
        expect(await textIn(...pieces)).toBe("Füße 👣 und Köpfe");
      }),
    );
  });

  test.each([
    ["with the last event unfinished", `${frame("a")}data: [DONE]`],
    ["with line ends of another system", `${frame("a")}${done}`.replaceAll("\n", "\r\n")],
    ["without a space behind the colon", `${frame("a")}${done}`.replaceAll("data: ", "data:")],
    ["without a last word", frame("a", "stop")],
    ["with frames of the server's own", `data: {"type":"ping"}\n\n${frame("a")}${done}`],
    ["with a usage frame", `${frame("a")}data: {"choices":[],"usage":{}}\n\n${done}`],
    ["with what follows the last word", `${frame("a")}${done}${frame("b")}`],
  ])("is read %s", async (_, stream) => {
    expect(await textIn(stream)).toBe("a");
  });

  test("keeps thoughts apart, by either name", async () => {
    const delta = (fields: object) =>
      `data: ${JSON.stringify({ choices: [{ delta: fields }] })}\n\n`;
    const stream = `${delta({ reasoning_content: "hm" })}${delta({ reasoning: "!" })}${delta({ content: "yes" })}${done}`;
    expect(await piecesIn(stream)).toEqual([
      { type: "thought", text: "hm" },
      { type: "thought", text: "!" },
      { type: "text", text: "yes" },
    ]);
  });

  test.each([
    [
      'data: {"error":{"message":"The node is stopping."}}\n\n',
      "The answer failed: The node is stopping.",
    ],
    ['data: {"error":"out of memory"}\n\n', "The answer failed: out of memory."],
    [frame("half"), "The answer failed: it ended before it was finished."],
    ["", "The answer failed: it ended before it was finished."],
    ["data: <html>\n\n", "The answer failed: the server did not send JSON: <html>."],
  ])("fails in a sentence: %j", async (stream, message) => {
    const error = await rejectionOf(textIn(stream));
    expect(error).toHaveProperty("message", message);
  });
});
