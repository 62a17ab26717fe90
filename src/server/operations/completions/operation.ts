/** POST /v1/completions */
import { defineOperation } from "../../define-operation.ts";
import { modelErrors } from "../../openapi.ts";
import { tags } from "../../operation.ts";
import { completionExamples } from "./examples.ts";
import { completePrompts } from "./handler.ts";
import { Completion, CompletionChunk, CompletionRequest } from "./schema.ts";
import { placesOf } from "./wire.ts";

export const completions = defineOperation({
  method: "POST",
  path: "/v1/completions",
  name: "completions",
  genAiName: "text_completion",
  operationId: "createCompletion",
  summary: "Continue a text",
  description:
    "Generates what follows each prompt, to which no chat template is applied, as one JSON body or, with `stream`, as server-sent events that end with `data: [DONE]`.",
  tag: tags.chat,
  scope: "chat",
  body: {
    name: "CompletionRequest",
    schema: CompletionRequest,
    example: completionExamples.request,
    // A list of numbers is one prompt.
    lists: [{ param: "prompt", limit: "maxInputs", isFor: (first) => typeof first !== "number" }],
    answers: placesOf,
    logged: ({ model, prompt, suffix }) => ({ model, prompt, ...(suffix ? { suffix } : {}) }),
  },
  answer: {
    name: "Completion",
    schema: Completion,
    description: "The answers.",
    example: completionExamples.completion,
  },
  stream: {
    name: "CompletionChunk",
    schema: CompletionChunk,
    description: "One line `data: <chunk>` for each of these, then the line `data: [DONE]`.",
    example: completionExamples.chunk,
  },
  errors: modelErrors,
  handler: completePrompts,
});
