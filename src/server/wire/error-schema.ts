/** The body of every error. */
import { type Static, Type as T } from "@sinclair/typebox";

export const ErrorAnswer = T.Object(
  {
    error: T.Object({
      message: T.String({ description: "What happened and what to do, for a person." }),
      type: T.String(),
      param: T.Union([T.String(), T.Null()], { description: "The request field at fault." }),
      code: T.Union([T.String(), T.Null()], { description: "The reason, for a program." }),
    }),
  },
  { description: "What went wrong." },
);

export type ErrorAnswer = Static<typeof ErrorAnswer>;
