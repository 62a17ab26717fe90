/** POST /v1/responses/input_tokens: how many tokens a request's input has, without an answer. */
import { Type as T } from "@sinclair/typebox";
import { longerThanContext } from "../../../core/chat/input-length.ts";
import { defineOperation } from "../../define-operation.ts";
import { modelErrors } from "../../openapi.ts";
import { type Handler, tags } from "../../operation.ts";
import { askedConversation } from "./conversation.ts";
import { responseExamples } from "./examples.ts";
import { renameFields } from "./field-names.ts";
import type { ResponseNeeds } from "./handler.ts";
import { newResponseId } from "./ids.ts";
import { ResponseRequest } from "./request-schema.ts";
import { withInstructions } from "./to-chat-request.ts";
import { toOfferedTools } from "./tool-use.ts";

const InputTokenCount = T.Object({
  object: T.Literal("response.input_tokens"),
  input_tokens: T.Integer({
    minimum: 0,
    description: "Of the instructions, the conversation and the tools.",
  }),
});

/** Counted as the prompt of a response is; passages that would ground it are not part of it. */
const count: Handler<ResponseRequest, ResponseNeeds> = async (
  { body },
  context,
  { models, responses, conversations, limits },
) => {
  const { engine } = models.chat(body.model);
  const offered = toOfferedTools(body);
  const { maxMessages, maxBodyBytes } = limits;
  const { signal, authenticated } = context;
  const { messages } = await askedConversation(body, {
    ...{ id: newResponseId(), maxMessages, maxBodyBytes, signal },
    find: (other) => responses.find(other, authenticated),
    itemsOf: async (conversation) =>
      (await conversations.get(conversation, authenticated, "conversation")).items,
  });
  const told = withInstructions(body.instructions, messages);
  const tokens = await engine.countTokens(told, offered.toolUse?.tools, { signal });
  if (!Number.isFinite(tokens)) {
    throw renameFields(longerThanContext(engine.contextSize, "messages"), offered);
  }
  return { json: { object: "response.input_tokens", input_tokens: tokens } };
};

export const countInputTokens = defineOperation({
  method: "POST",
  path: "/v1/responses/input_tokens",
  name: "responses",
  operationId: "countResponseInputTokens",
  summary: "Count the tokens that a response would be made from",
  description: "Takes what `POST /v1/responses` takes. Nothing is generated.",
  tag: tags.responses,
  scope: "chat",
  body: {
    name: "ResponseRequest",
    schema: ResponseRequest,
    example: responseExamples.request,
    lists: [{ param: "input", limit: "maxMessages" }],
    logged: ({ model, instructions, input }) => ({ model, instructions, input }),
  },
  answer: {
    name: "ResponseInputTokens",
    schema: InputTokenCount,
    description: "The count.",
    example: { object: "response.input_tokens", input_tokens: 39 },
  },
  errors: {
    ...modelErrors,
    404: "The named model, or the response to go on from, is not there.",
  },
  handler: count,
});
