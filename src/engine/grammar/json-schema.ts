/** JSON Schema to a grammar whose every sentence is JSON that validates. */
import { NodeError } from "../../core/errors.ts";
import { type GrammarRules, jsonLiteral } from "./rules.ts";
import {
  bounds,
  integerGrammar,
  numberGrammar,
  type Place,
  repeat,
  stringGrammar,
} from "./scalars.ts";
import {
  areDisjoint,
  assertions,
  isObject,
  isOfType,
  mergeSchemas,
  type SchemaObject,
  Unjoinable,
} from "./schema-merge.ts";

/** Keywords that assert something which the grammar cannot hold the model to. */
const unsupported = [
  "not",
  "if",
  "then",
  "else",
  "contains",
  "minContains",
  "maxContains",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "patternProperties",
  "propertyNames",
  "multipleOf",
  "unevaluatedItems",
  "$dynamicRef",
  "$recursiveRef",
];

const deepest = 64;

/** Compiles one document; `param` names it in errors. */
export class JsonSchemaCompiler {
  readonly #rules: GrammarRules;
  readonly #root: unknown;
  readonly #param: string;
  readonly #references = new Map<string, string>();

  constructor(rules: GrammarRules, root: unknown, param: string) {
    this.#rules = rules;
    this.#root = root;
    this.#param = param;
  }

  /** The rule for the whole document. */
  compile(): string {
    return this.#rule("schema", this.#schema(this.#root, [], 0));
  }

  #schema(schema: unknown, path: readonly string[], depth: number): string {
    if (depth > deepest) throw this.#refuse(path, `is nested deeper than ${deepest} levels`);
    if (schema === true) return this.#rules.value();
    if (!isObject(schema)) throw this.#refuse(path, "is not a schema: an object or true is needed");
    this.#checkKeywords(schema, path);
    const body = this.#shape(schema, path, depth);
    return schema.nullable === true ? `(${body}) | ${this.#rules.null()}` : body;
  }

  #shape(schema: SchemaObject, path: readonly string[], depth: number): string {
    if (schema.$ref !== undefined) {
      const { $ref, ...beside } = assertions(schema);
      if (Object.keys(beside).length === 0) return this.#reference($ref, path, depth);
      return this.#joined(beside, [{ $ref }], [...path, "$ref"], depth);
    }
    if (schema.allOf !== undefined) {
      const { allOf, ...beside } = schema;
      return this.#joined(beside, this.#list(allOf, [...path, "allOf"]), [...path, "allOf"], depth);
    }
    for (const keyword of ["anyOf", "oneOf"] as const) {
      if (schema[keyword] !== undefined) return this.#union(schema, keyword, path, depth);
    }
    if ("const" in schema || schema.enum !== undefined) return this.#values(schema, path);
    if (Array.isArray(schema.type)) {
      const types = this.#list(schema.type, [...path, "type"]).map((type) =>
        this.#rule(path.at(-1) ?? "type", this.#typed({ ...schema, type }, path, depth)),
      );
      return types.join(" | ");
    }
    return this.#typed(schema, path, depth);
  }

  #typed(schema: SchemaObject, path: readonly string[], depth: number): string {
    switch (schema.type ?? impliedType(schema)) {
      case "object":
        return this.#object(schema, path, depth);
      case "array":
        return this.#array(schema, path, depth);
      case "string":
        return stringGrammar(schema, this.#place(path));
      case "integer":
        return integerGrammar(schema, this.#place(path));
      case "number":
        return numberGrammar(schema, this.#place(path));
      case "boolean":
        return this.#rules.boolean();
      case "null":
        return this.#rules.null();
      case undefined:
        return this.#rules.value();
      default:
        throw this.#refuse([...path, "type"], `'${String(schema.type)}' is not a JSON type`);
    }
  }

  /** The values that `const` and `enum` fix, as far as `type` allows them. */
  #values(schema: SchemaObject, path: readonly string[]): string {
    const { const: only, enum: listed, type, ...rest } = assertions(schema);
    const [beside] = Object.keys(rest).filter((keyword) => keyword !== "nullable");
    const keyword = listed === undefined ? "const" : "enum";
    if (beside !== undefined) {
      throw this.#refuse([...path, keyword], `is not supported beside '${beside}'`);
    }
    const values = listed === undefined ? [only] : this.#list(listed, [...path, "enum"]);
    const types = type === undefined || Array.isArray(type) ? type : [type];
    const fixed = "const" in schema ? JSON.stringify(only) : undefined;
    const allowed = values
      .filter((value) => fixed === undefined || JSON.stringify(value) === fixed)
      .filter((value) => types === undefined || types.some((name) => isOfType(value, name)));
    if (allowed.length === 0) throw this.#refuse([...path, keyword], "allows no value");
    return allowed.map(jsonLiteral).join(" | ");
  }

  /** One of several schemas, each together with what stands beside them. */
  #union(
    schema: SchemaObject,
    keyword: "anyOf" | "oneOf",
    path: readonly string[],
    depth: number,
  ): string {
    const { [keyword]: listed, ...beside } = schema;
    const at = [...path, keyword];
    const options = this.#list(listed, at);
    if (keyword === "oneOf") this.#checkDisjoint(options, at);
    const plain = Object.keys(assertions(beside)).every((name) => name === "nullable");
    return options
      .map((option, index) =>
        plain
          ? this.#schema(option, [...at, String(index)], depth + 1)
          : this.#joined(beside, [option], [...at, String(index)], depth),
      )
      .map((body) => `(${body})`)
      .join(" | ");
  }

  /** A grammar cannot see to it that only one of several matches; they must exclude each other. */
  #checkDisjoint(options: readonly unknown[], path: readonly string[]): void {
    const schemas = options.map((option) => this.#resolve(option, path));
    schemas.forEach((schema, at) => {
      if (schemas.slice(at + 1).every((other) => areDisjoint(schema, other))) return;
      throw this.#refuse(path, "has options that one value could match together; use anyOf");
    });
  }

  /** The schema that asserts what all of them do. */
  #joined(
    beside: SchemaObject,
    parts: readonly unknown[],
    path: readonly string[],
    depth: number,
  ): string {
    try {
      const merged = parts
        .map((part) => this.#flatten(part, path, depth))
        .reduce(mergeSchemas, assertions(beside));
      return this.#schema(merged, path, depth + 1);
    } catch (error) {
      if (!(error instanceof Unjoinable)) throw error;
      throw this.#refuse(path, `cannot be held together with '${error.keyword}' beside it`);
    }
  }

  /** A schema without references and `allOf` at its top. */
  #flatten(part: unknown, path: readonly string[], depth: number): SchemaObject {
    if (depth > deepest) throw this.#refuse(path, "refers to itself");
    const schema = this.#resolve(part, path);
    this.#checkKeywords(schema, path);
    const { allOf, ...own } = schema;
    if (allOf === undefined) return own;
    return this.#list(allOf, [...path, "allOf"])
      .map((inner) => this.#flatten(inner, path, depth + 1))
      .reduce(mergeSchemas, own);
  }

  /** The schema that a reference, and a reference to a reference, stands for. */
  #resolve(part: unknown, path: readonly string[]): SchemaObject {
    let target = part;
    for (let steps = 0; isObject(target) && typeof target.$ref === "string"; steps++) {
      const { $ref, ...beside } = assertions(target);
      const found = this.#lookUp(String($ref), path);
      if (steps > deepest) throw this.#refuse(path, "refers to itself");
      target = isObject(found) ? mergeSchemas(beside, found) : found;
    }
    if (target === true) return {};
    if (!isObject(target)) throw this.#refuse(path, "holds something that is not a schema");
    return target;
  }

  #list(value: unknown, path: readonly string[]): readonly unknown[] {
    if (Array.isArray(value) && value.length > 0) return value;
    throw this.#refuse(path, "needs a list of at least one");
  }

  #reference(reference: unknown, path: readonly string[], depth: number): string {
    if (typeof reference !== "string") throw this.#refuse([...path, "$ref"], "is not a string");
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    const target = this.#lookUp(reference, path);
    const name = this.#rules.reserve(`ref-${reference.split("/").at(-1)}`);
    this.#references.set(reference, name);
    const body = this.#schema(target, [reference], depth + 1);
    if (body === name)
      throw this.#refuse([...path, "$ref"], "refers to itself and to nothing else");
    this.#rules.define(name, body);
    return name;
  }

  #lookUp(reference: string, path: readonly string[]): unknown {
    if (reference !== "#" && !reference.startsWith("#/")) {
      throw this.#refuse([...path, "$ref"], `'${reference}' points outside of the schema`);
    }
    let target: unknown = this.#root;
    for (const part of reference.split("/").slice(1)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      target = isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    }
    if (target === undefined) {
      throw this.#refuse([...path, "$ref"], `'${reference}' points to nothing`);
    }
    return target;
  }

  #object(schema: SchemaObject, path: readonly string[], depth: number): string {
    const properties = schema.properties ?? {};
    if (!isObject(properties)) throw this.#refuse([...path, "properties"], "is not an object");
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    for (const key of required) {
      if (typeof key === "string" && Object.hasOwn(properties, key)) continue;
      throw this.#refuse(
        [...path, "required"],
        `names '${String(key)}', which is not among the properties`,
      );
    }
    const names = Object.keys(properties);
    if (names.length === 0) return this.#map(schema, path, depth);
    for (const keyword of ["minProperties", "maxProperties"] as const) {
      const bound = schema[keyword];
      if (typeof bound !== "number") continue;
      const fits = keyword === "minProperties" ? bound <= required.size : bound >= names.length;
      if (!fits) throw this.#refuse([...path, keyword], "cannot be held together with properties");
    }
    const space = this.#rules.space();
    const members = names.map((key) => {
      const value = this.#schema(properties[key], [...path, "properties", key], depth + 1);
      const rule = this.#rule(key, value);
      return { text: `${jsonLiteral(key)} ":" ${space} ${rule}`, required: required.has(key) };
    });
    return `"{" ${space} ${this.#members(members)} ${space} "}"`;
  }

  /** The members in their order, optional ones perhaps left out, with commas only between. */
  #members(members: readonly { text: string; required: boolean }[]): string {
    const space = this.#rules.space();
    // What may follow a member that was written, from the last member back to the first.
    let tail = "";
    // What may come while none was written yet.
    let head = "";
    for (const { text, required } of members.toReversed()) {
      const first = `${text} ${tail}`;
      head = required ? first : head === "" ? `(${first})?` : `(${first} | ${head})`;
      const next = `${space} "," ${space} ${text}`;
      const following = required ? `${next} ${tail}` : `(${next})? ${tail}`;
      tail = this.#rule("members", following);
      head = this.#rule("members", head);
    }
    return head;
  }

  #map(schema: SchemaObject, path: readonly string[], depth: number): string {
    const extra = schema.additionalProperties ?? schema.unevaluatedProperties ?? true;
    const space = this.#rules.space();
    const [least, most] = bounds(schema, "minProperties", "maxProperties", this.#place(path));
    if (extra === false) {
      if (least > 0) throw this.#refuse([...path, "minProperties"], "asks for what is not allowed");
      return '"{}"';
    }
    const value = this.#schema(extra, [...path, "additionalProperties"], depth + 1);
    const member = `${this.#rules.string()} ":" ${space} ${this.#rule("member", value)}`;
    return `"{" ${space} ${this.#repeated(member, least, most)} ${space} "}"`;
  }

  #array(schema: SchemaObject, path: readonly string[], depth: number): string {
    if (schema.uniqueItems === true) {
      throw this.#refuse([...path, "uniqueItems"], "is not supported");
    }
    const space = this.#rules.space();
    const [least, most] = bounds(schema, "minItems", "maxItems", this.#place(path));
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const fixed = prefix.map((item, at) =>
      this.#rule("item", this.#schema(item, [...path, "prefixItems", String(at)], depth + 1)),
    );
    const items = schema.items ?? true;
    const rest = items === false ? undefined : this.#schema(items, [...path, "items"], depth + 1);
    const separator = `${space} "," ${space}`;
    if (fixed.length === 0) {
      const list = rest === undefined ? "" : this.#repeated(this.#rule("item", rest), least, most);
      return `"[" ${space} ${list} ${space} "]"`;
    }
    if (most !== undefined && most < fixed.length) {
      throw this.#refuse([...path, "maxItems"], "must cover every one of prefixItems");
    }
    const wanted = Math.max(0, least - fixed.length);
    if (rest === undefined && wanted > 0) {
      throw this.#refuse([...path, "minItems"], "asks for more than prefixItems and items allow");
    }
    // Free items after the fixed ones are written only where they are asked for.
    const free = schema.items === undefined || schema.items === true;
    const allowed = free ? wanted : most === undefined ? undefined : most - fixed.length;
    const more =
      rest === undefined || allowed === 0
        ? ""
        : `(${separator} ${this.#rule("item", rest)})${repeat(wanted, allowed)}`;
    return `"[" ${space} ${fixed.join(` ${separator} `)} ${more} ${space} "]"`;
  }

  /** `item`s with commas between them, from `least` to `most`. */
  #repeated(item: string, least: number, most: number | undefined): string {
    const space = this.#rules.space();
    if (most === 0) return "";
    const more = repeat(Math.max(0, least - 1), most === undefined ? undefined : most - 1);
    const list = `${item} (${space} "," ${space} ${item})${more}`;
    return least > 0 ? list : `(${list})?`;
  }

  #place(path: readonly string[]): Place {
    return {
      rules: this.#rules,
      refuse: (keyword, why) => this.#refuse([...path, keyword], why),
    };
  }

  #checkKeywords(schema: SchemaObject, path: readonly string[]): void {
    const keyword = unsupported.find((name) => name in schema);
    if (keyword !== undefined) throw this.#refuse([...path, keyword], "is not supported");
  }

  #rule(name: string, body: string): string {
    // Marked, so that no property's name is taken for a rule of the grammar itself.
    return this.#rules.add(`of-${name}`, body);
  }

  #refuse(path: readonly string[], why: string): NodeError {
    const keyword = path.length === 0 ? "The schema" : `'${path.join("/")}'`;
    return new NodeError("invalid_request", `${this.#param}: ${keyword} ${why}.`, {
      param: this.#param,
    });
  }
}

const impliedTypes: Readonly<Record<string, readonly string[]>> = {
  object: [
    "properties",
    "additionalProperties",
    "unevaluatedProperties",
    "required",
    "minProperties",
    "maxProperties",
  ],
  array: ["items", "prefixItems", "minItems", "maxItems", "uniqueItems"],
  string: ["pattern", "format", "minLength", "maxLength"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
};

/** The type that a schema means without saying it; other types would be free of its keywords. */
function impliedType(schema: SchemaObject): string | undefined {
  return Object.entries(impliedTypes).find(([, keywords]) =>
    keywords.some((keyword) => keyword in schema),
  )?.[0];
}
