/** Reads the events of a streamed response, each of which must fit its schema. */
import { Value } from "@sinclair/typebox/value";
import { ResponseStreamEvent } from "../../src/server/operations/responses/schema.ts";
import { wholeFrames } from "./sse.ts";

export async function readEvents(response: Response): Promise<ResponseStreamEvent[]> {
  return (await wholeFrames(response)).map((frame) => {
    const [, name, data = ""] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
    const event: unknown = JSON.parse(data);
    if (!Value.Check(ResponseStreamEvent, event)) {
      const { path, message } = Value.Errors(ResponseStreamEvent, event).First() ?? {};
      throw new Error(`${path}: ${message} in ${data}`);
    }
    if (event.type !== name) throw new Error(`An event of type ${event.type} is named ${name}`);
    return event;
  });
}
