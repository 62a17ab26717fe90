/** A request to its response, whole or as the events of a stream. */
import type { ModelRegistry } from "../../../core/models/model.ts";
import { namedEvents } from "../../event-format.ts";
import type { Answer, Handler } from "../../operation.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import { beginAnswer, type ChatNeeds } from "../../wire/begin-answer.ts";
import { itemId, newResponseId } from "./ids.ts";
import { toMessages } from "./input-messages.ts";
import { renamed } from "./own-field-names.ts";
import type { ResponseRequest } from "./request-schema.ts";
import { answeredBy, begunResponse, secondsNow } from "./response-body.ts";
import { ResponseRun } from "./response-run.ts";
import { logprobsIncluded, toChatRequest, withInstructions } from "./to-chat-request.ts";
import { toOfferedTools } from "./tool-use.ts";
import { truncated } from "./truncation.ts";

export interface ResponseNeeds extends ChatNeeds {
  models: ModelRegistry;
}

export const createResponse: Handler<ResponseRequest, ResponseNeeds> = async (
  { body },
  context,
  needs,
): Promise<Answer> => {
  const id = newResponseId();
  const createdAt = secondsNow();
  checkedPairs(body.metadata ?? {}, "metadata");
  const offered = toOfferedTools(body);
  const said = withInstructions(body.instructions, toMessages(body.input));
  const conversation = { messages: said, tools: offered.toolUse?.tools ?? [] };
  const { messages, dropped } =
    body.truncation === "auto"
      ? await truncated(
          { ...conversation, maxTokens: body.max_output_tokens ?? undefined },
          needs.models.chat(body.model).engine,
          context.signal,
        )
      : { messages: said, dropped: 0 };
  const rename = (error: unknown): unknown => renamed(error, offered);
  const answer = await beginAnswer(
    toChatRequest(body, messages, offered.toolUse),
    context,
    needs,
  ).catch((error) => {
    throw rename(error);
  });
  const facts = { id, createdAt, body, isKept: false, truncated: dropped };
  const begun = { ...begunResponse(facts, "in_progress"), ...answeredBy(answer) };
  const run = new ResponseRun(begun, answer, {
    itemId: (kind, index) => itemId(id, kind, index),
    withLogprobs: body.include?.includes(logprobsIncluded) ?? false,
    annotate: () => [],
    rename,
    settle: async () => {},
  });
  if (body.stream !== true) return { json: await run.whole() };
  return { events: run.streamed(), format: namedEvents((error) => run.failed(error)) };
};
