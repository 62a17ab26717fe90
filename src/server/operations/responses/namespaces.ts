/** Functions that are offered in namespaces: the model knows each by one name, which says both. */
import type { Tool } from "../../../core/ports/chat-engine.ts";
import { refuse } from "../../wire/refuse.ts";
import { withoutNulls } from "../../wire/without-nulls.ts";
import type { ResponseTool } from "./tool-schema.ts";

/** What a call of it is called on the wire. */
export interface WireName {
  name: string;
  namespace?: string;
}

/** A function as the model is offered it. */
export interface OfferedFunction {
  tool: Tool;
  /** Where it stands in the request: `tools[4].tools[0]`. */
  at: string;
  wire: WireName;
}

/** More would be more than a model reads, and than a grammar holds. */
const mostFunctions = 512;

/** Every function, whichever namespace it is in; what is no function is left out. */
export function offeredFunctions(tools: readonly ResponseTool[]): OfferedFunction[] {
  const functions = tools.flatMap((tool, place): OfferedFunction[] => {
    const at = `tools[${place}]`;
    if (tool.type === "function") return [toFunction(tool, at)];
    return tool.type === "namespace" ? inNamespace(tool, at) : [];
  });
  if (functions.length > mostFunctions) {
    throw refuse("tools", `has more than ${mostFunctions} functions in all of its namespaces`);
  }
  return functions;
}

/** The one name of both, such as `files__read`. */
export function modelName({ namespace, name }: WireName): string {
  if (namespace === undefined) return name;
  return namespace.endsWith("__") ? `${namespace}${name}` : `${namespace}__${name}`;
}

function inNamespace({ name, tools }: ResponseTool, at: string): OfferedFunction[] {
  if (name === undefined) throw refuse(`${at}.name`, "is required: the name of the namespace");
  if (tools === undefined) throw refuse(`${at}.tools`, "is required: a list of functions");
  return tools.flatMap((tool, place) =>
    tool.type === "function" ? [toFunction(tool, `${at}.tools[${place}]`, name)] : [],
  );
}

type Definition = Pick<ResponseTool, "name" | "description" | "parameters" | "strict">;

function toFunction(
  { name, description, parameters, strict }: Definition,
  at: string,
  namespace?: string,
): OfferedFunction {
  if (name === undefined) throw refuse(`${at}.name`, "is required: the name of the function");
  const wire = { name, ...(namespace === undefined ? {} : { namespace }) };
  // What a grammar cannot hold is let go where the caller does not insist.
  const loose = strict === false ? { strict } : {};
  const tool = { name: modelName(wire), ...withoutNulls({ description, parameters }), ...loose };
  return { tool, at, wire };
}
