/** A message of MCP to its answer, for the caller whose key it came with. */
import type { Log } from "../../../core/log.ts";
import type { Handler } from "../../operation.ts";
import type { McpEndpoint } from "./endpoint.ts";
import { checkMessageSize } from "./message-size.ts";
import type { McpMessage } from "./schema.ts";

interface Needs {
  mcp: McpEndpoint;
  log: Log;
}

export const answerMcp: Handler<McpMessage, Needs> = async ({ body }, context, { mcp, log }) => {
  const { id, signal, report, requestHeaders: headers, authenticated: caller } = context;
  checkMessageSize(body);
  const { status, text } = await mcp.answer(
    { message: body, headers },
    {
      ...{ caller, signal, report },
      authorize: (scope) => void context.authenticate("retrieve", scope),
      onFault: (error) => log.error("a request over MCP failed", { id, error }),
    },
  );
  context.loggedAnswer = () => ({ text });
  return { status, text, contentType: "application/json" };
};
