/** Errors of `/mcp`: clients that know OAuth look for a place to sign in, and must be told that a key is meant. */
import { type ErrorFormat, errorBody } from "../../middleware/errors.ts";
import { ErrorAnswer } from "../../wire/error-schema.ts";

const noSignIn = "There is no OAuth here: write the key into the settings of your editor or agent.";

export const mcpErrors: ErrorFormat = {
  name: "Error",
  schema: ErrorAnswer,
  body(error, { message }) {
    const { error: told } = errorBody(error);
    const isKey = error.kind === "unauthenticated";
    return { error: { ...told, message: isKey ? `${message} ${noSignIn}` : message } };
  },
};
