/** POST /v1/responses and POST /v1/responses/input_tokens */
import { Type as T } from "@sinclair/typebox";
import { modelErrors } from "../../openapi.ts";
import { defineOperation, described, namedSchema } from "../../operation.ts";
import { countPrompt } from "../../wire/answer.ts";
import { count } from "../../wire/fields.ts";
import { scopesOfRag } from "../../wire/grounding.ts";
import { begunResponse, createResponse, type ResponseNeeds, readConversation } from "./handler.ts";
import { newResponseId } from "./items.ts";
import { withInstructions } from "./request.ts";
import { ResponseRequest } from "./request-schema.ts";
import { ResponseObject, ResponseStreamEvent } from "./schema.ts";
import { responseNames, toOfferedTools } from "./tools.ts";

const request: ResponseRequest = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  instructions: "You are a helpful assistant.",
  input: "What is the capital of France?",
  temperature: 0,
};

const id = "resp_2f9d7c1e5a314f0b9c573d6a1f0e8b42";
const message = "msg_2f9d7c1e5a314f0b9c573d6a1f0e8b42_0";

export const responseExample: ResponseObject = {
  ...begunResponse({ id, createdAt: 1794700800, body: request, isStored: true }, "in_progress"),
  status: "completed",
  completed_at: 1794700801,
  output: [
    {
      type: "message",
      id: message,
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "The capital of France is Paris.", annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 39,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 46,
  },
  system_fingerprint: "fp_5c3a9e1b7d20",
};

const event: ResponseStreamEvent = {
  type: "response.output_text.delta",
  sequence_number: 4,
  item_id: message,
  output_index: 0,
  content_index: 0,
  delta: "Paris",
  logprobs: [],
};

const body = {
  ...namedSchema({ ResponseRequest }),
  example: request,
  lists: [{ param: "input", limit: "maxMessages" }],
} as const;

const InputTokenCount = T.Object({
  object: T.Literal("response.input_tokens"),
  input_tokens: count("Of the instructions, the conversation and the tools."),
});

export const responseOperations = [
  defineOperation({
    route: "POST /v1/responses",
    name: "responses",
    genAiName: "chat",
    operationId: "createResponse",
    summary: "Create a response",
    description:
      "Generates an answer as the items of a response, as one JSON body or, with `stream`, as server-sent events that end with `response.completed`, `response.incomplete` or `response.failed`.",
    tag: "Responses",
    scope: "chat",
    body: {
      ...body,
      scopes: ({ rag, tools }) =>
        tools?.some(({ type }) => type === "file_search") === true
          ? ["retrieve"]
          : scopesOfRag(rag),
      logged: ({ model, instructions, input, previous_response_id }) => ({
        ...{ model, instructions, input, previous_response_id },
      }),
    },
    answer: described({ Response: ResponseObject }, "The response.", responseExample),
    stream: described(
      { ResponseStreamEvent },
      "Each as a line `event: <type>` and a line `data: <event>`, numbered from 0 by `sequence_number`.",
      event,
    ),
    errors: {
      ...modelErrors,
      404: "There is no such model, or it has another type: code `model_not_found`. Or there is no such response to continue: it was not stored, was deleted, has expired, or belongs to another key.",
    },
    handler: createResponse,
  }),
  defineOperation({
    route: "POST /v1/responses/input_tokens",
    name: "responses",
    operationId: "countResponseInputTokens",
    summary: "Count the input tokens of a response",
    description: "Accepts the same fields as `POST /v1/responses`. Nothing is generated.",
    tag: "Responses",
    scope: "chat",
    body: {
      ...body,
      logged: ({ model, instructions, input }) => ({ model, instructions, input }),
    },
    answer: described({ ResponseInputTokens: InputTokenCount }, "The count.", {
      object: "response.input_tokens",
      input_tokens: 39,
    }),
    errors: {
      ...modelErrors,
      404: "There is no such model, or no such response to continue.",
    },
    handler: async ({ body }, context, needs: ResponseNeeds) => {
      const { engine } = needs.models.chat(body.model);
      const offered = toOfferedTools(body);
      context.fieldNames = responseNames(offered);
      const { messages } = await readConversation(body, newResponseId(), context, needs);
      const told = withInstructions(body.instructions, messages);
      const input_tokens = await countPrompt(engine, told, offered.toolUse, context);
      return { json: { object: "response.input_tokens", input_tokens } };
    },
  }),
] as const;
