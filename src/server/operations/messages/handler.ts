/** A request of Anthropic's API to its answer, whole or as events, or to the number of its tokens. */
import { longerThanContext } from "../../../core/chat/input-length.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import { announceIgnored } from "../../middleware/ignored-fields.ts";
import type { Handler } from "../../operation.ts";
import { beginAnswer, type ChatNeeds } from "../../wire/begin-answer.ts";
import { type FieldNames, renameFields } from "../../wire/field-names.ts";
import { messageEvents } from "./error-format.ts";
import { ignoredHeaders } from "./headers.ts";
import type { CountTokensRequest, MessageRequest } from "./schema.ts";
import { toEvents, toMessage } from "./to-message.ts";
import { toChatRequest, toPrompt, toThoughts } from "./wire.ts";

const names: FieldNames = [
  [/\btools\[(\d+)\]\.function\.parameters/g, "tools[$1].input_schema"],
  [/\bresponse_format\.json_schema\.schema/g, "output_config.format.schema"],
  [/\bresponse_format\b/g, "output_config.format"],
];

interface MessageNeeds extends ChatNeeds {
  models: ModelRegistry;
}

export const answerMessage: Handler<MessageRequest, MessageNeeds> = async (
  { body },
  context,
  needs,
) => {
  announceIgnored(ignoredHeaders(context.requestHeaders), context, needs.log);
  const request = toChatRequest(body);
  const { contextSize } = needs.models.chat(body.model).engine;
  let promptTokens = 0;
  const begun = await beginAnswer(request, context, needs, {
    onStart: (tokens) => {
      promptTokens = tokens;
    },
  });
  const answer = { ...begun, events: renameFields(begun.events, names) };
  const options = {
    thoughts: toThoughts(body),
    promptTokens: () => promptTokens,
    stops: body.stop_sequences ?? [],
    maxTokens: body.max_tokens,
    contextSize,
  };
  if (body.stream !== true) return { json: await toMessage(answer, options) };
  return { events: toEvents(answer, options), format: messageEvents(context.id) };
};

/** Counted as the prompt of an answer is; passages that would ground it are not part of it. */
export const countMessageTokens: Handler<CountTokensRequest, MessageNeeds> = async (
  { body },
  context,
  { models, log },
) => {
  announceIgnored(ignoredHeaders(context.requestHeaders), context, log);
  const { messages, toolUse } = toPrompt(body);
  const { engine } = models.chat(body.model);
  const { signal } = context;
  const tokens = await engine.countTokens(messages, toolUse?.tools, { signal });
  if (Number.isFinite(tokens)) return { json: { input_tokens: tokens } };
  throw longerThanContext(engine.contextSize, "messages");
};
