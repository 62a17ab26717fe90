/** Compiles the grammars that constrain an answer: its JSON format and its tool calls. */
import type { LlamaModel } from "node-llama-cpp";
import { NodeError, reasonOf, type Subject } from "../../core/errors.ts";
import type { AnswerFormat, Tool } from "../../core/ports/chat-engine.ts";
import type { CallSyntax } from "../generation/tool-call-parser.ts";
import type { DirectContext } from "../native/direct-context.ts";
import { GrammarState } from "../native/sampler.ts";
import { JsonSchemaCompiler, UnsupportedSchema } from "./json-schema.ts";
import { Budget, mostOpenParses, OverBudget } from "./limits.ts";
import { checkNativeCost } from "./native-cost.ts";
import { GrammarRules, literal } from "./rules.ts";
import { isObject, pointerSteps } from "./schema-resolver.ts";

/** What a grammar constrains the answer to; format and calls are alternatives. */
export interface Shape {
  format?: Exclude<AnswerFormat, "text">;
  calls?: CallShape;
}

interface CallShape {
  tools: readonly Tool[];
  only: string | undefined;
  syntax: CallSyntax;
  parallel: boolean;
  /** Whether the text before the first tool's name is part of the shape. */
  withPrefix: boolean;
}

export async function startGrammar(
  model: LlamaModel,
  shape: Shape,
  direct?: DirectContext,
): Promise<GrammarState> {
  const { format } = shape;
  const part = format === undefined || format === "json" ? "tools" : "format";
  const refuse = (why: string, cause: unknown): NodeError =>
    new NodeError("invalid_request", `The schema ${why}`, { subject: { part }, cause });
  const text = grammarText(shape, (over) => refuse(`${over.message}.`, over));
  try {
    const grammar = await model.llama.createGrammar({ grammar: text });
    return new GrammarState({ model, grammar, direct });
  } catch (cause) {
    throw refuse(`makes a grammar that llama.cpp cannot use: ${reasonOf(cause)}`, cause);
  }
}

function grammarText({ format, calls }: Shape, refuse: (over: OverBudget) => NodeError): string {
  const rules = new GrammarRules();
  const roots: string[] = [];
  try {
    if (format === "json") {
      rules.value();
      roots.push(rules.object());
    } else if (format !== undefined) {
      roots.push(new JsonSchemaCompiler(rules, format.schema, { part: "schema" }).compile().rule);
    }
    if (calls !== undefined) roots.push(callRule(rules, calls));
    const text = rules.toString(roots.join(" | "));
    checkNativeCost(text);
    return text;
  } catch (error) {
    throw error instanceof OverBudget ? refuse(error) : error;
  }
}

function callRule(
  rules: GrammarRules,
  { tools, only, syntax, parallel, withPrefix }: CallShape,
): string {
  const parsesOf = new Map<string, number>();
  const loosening = new Budget();
  const one = tools.flatMap((tool, at) => {
    const { name } = tool;
    if (only !== undefined && name !== only) return [];
    const subject: Subject = { part: "tools", at };
    const wanted = argumentsSchema(tool, subject);
    const schema = tool.strict === false ? loosened(wanted, subject, loosening) : wanted;
    const compiler = new JsonSchemaCompiler(rules, schema, subject);
    const head = literal(`${name}${syntax.paramsPrefix(name)}`);
    const { rule, parses } = compiler.compile();
    // Tools of one name differ only in their arguments, so all of their parses are open together.
    const open = (parsesOf.get(name) ?? 0) + parses;
    parsesOf.set(name, open);
    if (open > mostOpenParses) {
      throw new NodeError(
        "invalid_request",
        `The schema keeps, with those of the same name, more than ${mostOpenParses} parses of a call open.`,
        { subject },
      );
    }
    return `${head} ${rule} ${optionalLiteral(syntax.suffix(name))}`;
  });
  const call = rules.add("call", one.map((option) => `(${option})`).join(" | "));
  const prefix = optionalLiteral(syntax.prefix);
  const more = parallel ? `(${optionalLiteral(syntax.between)} ${prefix} ${call}){0,15}` : "";
  return `${withPrefix ? prefix : ""} ${call} ${more}`;
}

/** Arguments are an object, whether or not the schema says so. */
function argumentsSchema({ parameters }: Tool, subject: Subject): object {
  if (parameters === undefined) return { type: "object", additionalProperties: false };
  const refused = (why: string): NodeError =>
    new NodeError("invalid_request", `The parameters must ${why}.`, { subject });
  if (!isObject(parameters)) throw refused("be a JSON Schema object");
  const { type = "object" } = parameters;
  if (type === "object") return { ...parameters, type };
  throw refused("describe an object; their type does not");
}

const optionalLiteral = (text: string): string => (text === "" ? "" : literal(text));

/** At most this many parts are dropped one by one; beyond it, the whole schema is. */
const mostParts = 16;

/** A schema without the parts that a grammar cannot enforce, for tools that are not strict. `budget`: of the whole request. */
export function loosened(schema: object, subject: Subject, budget: Budget): object {
  try {
    let loose = schema;
    for (let parts = 0; parts <= mostParts; parts++) {
      const refusal = refusalOf(loose, subject, budget);
      if (refusal === undefined) return loose;
      loose = JSON.parse(budget.json(loose));
      if (!drop(loose, refusal.path)) break;
    }
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
  }
  return { type: "object" };
}

function refusalOf(
  schema: object,
  subject: Subject,
  budget: Budget,
): UnsupportedSchema | undefined {
  try {
    new JsonSchemaCompiler(new GrammarRules(budget), schema, subject).compile();
    return undefined;
  } catch (error) {
    if (error instanceof UnsupportedSchema) return error;
    throw error;
  }
}

/** Drops the part at the path, or the last one on the way to it; returns whether there was one. */
function drop(schema: object, [first = "", ...rest]: readonly string[]): boolean {
  let parent = schema;
  let last: { parent: object; key: string; isProperty: boolean } | undefined;
  for (const key of [...((first.startsWith("#") && pointerSteps(first)) || [first]), ...rest]) {
    if (!Object.hasOwn(parent, key)) break;
    last = { parent, key, isProperty: last?.key === "properties" && !last.isProperty };
    const value: unknown = Reflect.get(parent, key);
    if (typeof value !== "object" || value === null) break;
    parent = value;
  }
  if (last === undefined) return false;
  // A property may still be there, and an item of a list keeps its place.
  if (last.isProperty || Array.isArray(last.parent)) return Reflect.set(last.parent, last.key, {});
  // Without `properties`, these keywords would reject every property.
  const dropped =
    last.key === "properties" ? [last.key, "required", "additionalProperties"] : [last.key];
  for (const key of dropped) Reflect.deleteProperty(last.parent, key);
  return true;
}
