/** Errors as Cohere's clients read them: a message on top; beside it what every other operation says. */
import { Type as T } from "@sinclair/typebox";
import { type ErrorFormat, errorBody } from "../../middleware/errors.ts";
import { ErrorAnswer } from "../../wire/error-schema.ts";

export const cohereErrors: ErrorFormat = {
  name: "CohereError",
  schema: T.Object(
    {
      id: T.String({ description: "Of the request." }),
      message: T.String({ description: "What happened and what to do, for a person." }),
      error: ErrorAnswer.properties.error,
    },
    { description: "What went wrong." },
  ),
  body: (error, { message, requestId }) => ({ id: requestId, message, ...errorBody(error) }),
};
