/** Errors in the format of Ollama's API, and the names of its fields in them. */
import { Type as T } from "@sinclair/typebox";
import type { ErrorFormat } from "../../middleware/errors.ts";

/** Some of its clients look for these words. */
const notFound = "model not found: ";

export const ollamaErrors: ErrorFormat = {
  name: "OllamaError",
  schema: T.Object({
    error: T.String({ description: "What happened and what to do, for a person." }),
  }),
  body: ({ kind }, { message }) => ({
    error: kind === "model_not_found" ? `${notFound}${message}` : message,
  }),
};
