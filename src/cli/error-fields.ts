/** An error as the log shows it: what happened and where, and nothing that somebody sent. */

export interface ErrorFields {
  type: string;
  message: string;
  stack: string[];
  cause?: ErrorFields | string;
}

const longest = 500;
const mostCauses = 5;

/** Other fields of errors are left out: libraries put requests, answers and headers there. */
export function errorFields(error: unknown, depth = 0): ErrorFields | string {
  if (!(error instanceof Error)) return `thrown: ${typeof error}`;
  const { cause } = error;
  return {
    type: error.name,
    message: messageOf(error),
    stack: framesOf(error),
    ...(cause === undefined || depth === mostCauses
      ? {}
      : { cause: errorFields(cause, depth + 1) }),
  };
}

/** A parser quotes the text that it could not read, which is somebody's. */
function messageOf(error: Error): string {
  const message =
    error instanceof SyntaxError
      ? error.message.replace(/(["'`]).*\1/gs, "(not shown)")
      : error.message;
  return message.length > longest ? `${message.slice(0, longest)}…` : message;
}

const framesOf = ({ stack = "" }: Error): string[] =>
  stack
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "));
