/** A tool: what a client is told of it, what a key must open for it, and what it does. */
import type { Static, TObject } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Scope } from "../core/limits/api-key.ts";
import { invalid } from "../server/middleware/read-request.ts";
import type { McpSession } from "../server/operations/mcp/endpoint.ts";
import type { McpDocuments } from "./documents.ts";

/** What a call is done with. */
export type Work = Pick<McpSession, "caller" | "signal" | "report"> & { documents: McpDocuments };

interface Declaration<Input extends TObject, Output extends TObject> {
  name: string;
  title: string;
  /** For the model that decides whether to call it. */
  description: string;
  /** What the key must open besides `retrieve`. */
  scope: Scope;
  input: Input;
  output: Output;
  call: (wanted: Static<Input>, work: Work) => Promise<Static<Output>>;
}

export interface Tool {
  scope: Scope;
  /** As `tools/list` shows it. */
  shown: {
    name: string;
    title: string;
    description: string;
    inputSchema: TObject;
    outputSchema: TObject;
    annotations: typeof annotations;
  };
  /** Refuses arguments that break the schema. */
  call(wanted: unknown, work: Work): Promise<Record<string, unknown>>;
}

/** Nothing is changed, a second call finds the same, and only this node is asked. */
const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

export function defineTool<Input extends TObject, Output extends TObject>({
  name,
  title,
  description,
  scope,
  input,
  output,
  call,
}: Declaration<Input, Output>): Tool {
  const checker = TypeCompiler.Compile(input);
  const shown = { name, title, description, inputSchema: input, outputSchema: output };
  return {
    scope,
    shown: { ...shown, annotations },
    call: async (wanted, work) => {
      if (!checker.Check(wanted)) throw invalid(input, wanted);
      return { ...(await call(wanted, work)) };
    },
  };
}
