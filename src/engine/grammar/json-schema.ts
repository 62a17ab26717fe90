/** JSON Schema to a grammar whose every sentence is JSON that validates. */
import { NodeError } from "../../core/errors.ts";
import { decimalRange, integerRange } from "./number-range.ts";
import { patternGrammar, UnsupportedPattern } from "./pattern.ts";
import { type GrammarRules, jsonLiteral } from "./rules.ts";
import { stringFormats } from "./string-formats.ts";

type SchemaObject = Readonly<Record<string, unknown>>;

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

/** Keywords beside which `anyOf`, `oneOf`, `allOf` and `$ref` would have to be intersected. */
const shaping = ["type", "properties", "required", "items", "prefixItems", "enum", "const"];

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
    if (schema.$ref !== undefined) return this.#reference(schema.$ref, path, depth);
    if ("const" in schema) return jsonLiteral(schema.const);
    if (schema.enum !== undefined) return this.#enumeration(schema.enum, path);
    if (schema.allOf !== undefined) return this.#intersection(schema, path, depth);
    for (const keyword of ["anyOf", "oneOf"] as const) {
      const options = schema[keyword];
      if (options !== undefined) return this.#union(options, [...path, keyword], depth);
    }
    if (Array.isArray(schema.type)) {
      const types = schema.type.map((type) =>
        this.#rule(path.at(-1) ?? "type", this.#typed({ ...schema, type }, path, depth)),
      );
      if (types.length === 0) throw this.#refuse([...path, "type"], "is an empty list");
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
        return this.#string(schema, path);
      case "integer":
        return this.#integer(schema, path);
      case "number":
        return this.#number(schema, path);
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

  #enumeration(values: unknown, path: readonly string[]): string {
    if (!Array.isArray(values) || values.length === 0) {
      throw this.#refuse([...path, "enum"], "needs at least one value");
    }
    return values.map(jsonLiteral).join(" | ");
  }

  #union(options: unknown, path: readonly string[], depth: number): string {
    if (!Array.isArray(options) || options.length === 0) {
      throw this.#refuse(path, "needs at least one schema");
    }
    return options
      .map((option, at) => this.#schema(option, [...path, String(at)], depth + 1))
      .map((body) => `(${body})`)
      .join(" | ");
  }

  /** Objects are merged; a single schema stands for itself. */
  #intersection(schema: SchemaObject, path: readonly string[], depth: number): string {
    const { allOf, ...own } = schema;
    const at = [...path, "allOf"];
    if (!Array.isArray(allOf)) throw this.#refuse(at, "is not a list of schemas");
    const parts = [own, ...allOf.map((part) => this.#resolve(part, at))];
    const shaped = parts.filter((part) => shaping.some((keyword) => keyword in part));
    if (shaped.length === 1) return this.#schema(shaped[0], path, depth + 1);
    if (shaped.some((part) => (part.type ?? impliedType(part)) !== "object")) {
      throw this.#refuse(at, "can combine objects only");
    }
    const merged: SchemaObject = {
      type: "object",
      properties: Object.assign({}, ...shaped.map((part) => part.properties ?? {})),
      required: shaped.flatMap((part) => (Array.isArray(part.required) ? part.required : [])),
    };
    return this.#schema(merged, path, depth + 1);
  }

  #resolve(part: unknown, path: readonly string[]): SchemaObject {
    const target =
      isObject(part) && typeof part.$ref === "string" ? this.#lookUp(part.$ref, path) : part;
    if (!isObject(target)) throw this.#refuse(path, "holds something that is not a schema");
    return target;
  }

  #reference(reference: unknown, path: readonly string[], depth: number): string {
    if (typeof reference !== "string") throw this.#refuse([...path, "$ref"], "is not a string");
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    const target = this.#lookUp(reference, path);
    const name = this.#rules.reserve(reference.split("/").at(-1) || "document");
    this.#references.set(reference, name);
    this.#rules.define(name, this.#schema(target, [reference], depth + 1));
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
    const extra = schema.additionalProperties ?? true;
    const space = this.#rules.space();
    const [least, most] = this.#bounds(schema, "minProperties", "maxProperties", path);
    if (extra === false) return '"{}"';
    const value = this.#schema(extra, [...path, "additionalProperties"], depth + 1);
    const member = `${this.#rules.string()} ":" ${space} ${this.#rule("member", value)}`;
    return `"{" ${space} ${this.#list(member, least, most)} ${space} "}"`;
  }

  #array(schema: SchemaObject, path: readonly string[], depth: number): string {
    if (schema.uniqueItems === true) {
      throw this.#refuse([...path, "uniqueItems"], "is not supported");
    }
    const space = this.#rules.space();
    const [least, most] = this.#bounds(schema, "minItems", "maxItems", path);
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    const fixed = prefix.map((item, at) =>
      this.#rule("item", this.#schema(item, [...path, "prefixItems", String(at)], depth + 1)),
    );
    const items = schema.items ?? prefix.length === 0;
    const rest = items === false ? undefined : this.#schema(items, [...path, "items"], depth + 1);
    const separator = `${space} "," ${space}`;
    if (fixed.length === 0) {
      const list = rest === undefined ? "" : this.#list(this.#rule("item", rest), least, most);
      return `"[" ${space} ${list} ${space} "]"`;
    }
    if (least < fixed.length && schema.minItems !== undefined) {
      throw this.#refuse([...path, "minItems"], "must cover every one of prefixItems");
    }
    const more =
      rest === undefined || items === true
        ? ""
        : `(${separator} ${this.#rule("item", rest)})${repeat(
            Math.max(0, least - fixed.length),
            most === undefined ? undefined : most - fixed.length,
          )}`;
    return `"[" ${space} ${fixed.join(` ${separator} `)} ${more} ${space} "]"`;
  }

  /** `item`s with commas between them, from `least` to `most`. */
  #list(item: string, least: number, most: number | undefined): string {
    const space = this.#rules.space();
    if (most === 0) return "";
    const more = repeat(Math.max(0, least - 1), most === undefined ? undefined : most - 1);
    const list = `${item} (${space} "," ${space} ${item})${more}`;
    return least > 0 ? list : `(${list})?`;
  }

  #string(schema: SchemaObject, path: readonly string[]): string {
    const { pattern, format } = schema;
    const [least, most] = this.#bounds(schema, "minLength", "maxLength", path);
    const bounded = least > 0 || most !== undefined;
    if (pattern !== undefined) {
      if (bounded)
        throw this.#refuse([...path, "pattern"], "cannot be held together with a length");
      return `"\\"" ${this.#pattern(String(pattern), [...path, "pattern"])} "\\""`;
    }
    if (format !== undefined) {
      const known = stringFormats[String(format)];
      if (known === undefined) {
        const names = Object.keys(stringFormats).join(", ");
        throw this.#refuse([...path, "format"], `'${String(format)}' is not one of ${names}`);
      }
      if (bounded) throw this.#refuse([...path, "format"], "cannot be held together with a length");
      return `"\\"" ${this.#pattern(known, [...path, "format"])} "\\""`;
    }
    if (!bounded) return this.#rules.string();
    return `"\\"" ${this.#rules.character()}${repeat(least, most)} "\\""`;
  }

  #pattern(pattern: string, path: readonly string[]): string {
    try {
      return patternGrammar(pattern);
    } catch (error) {
      if (!(error instanceof UnsupportedPattern)) throw error;
      throw this.#refuse(path, `'${pattern}' uses what a grammar cannot follow`);
    }
  }

  #integer(schema: SchemaObject, path: readonly string[]): string {
    const least = largest(
      this.#numeric(schema, "minimum", path, Math.ceil),
      this.#numeric(schema, "exclusiveMinimum", path, (bound) => Math.floor(bound) + 1),
    );
    const most = smallest(
      this.#numeric(schema, "maximum", path, Math.floor),
      this.#numeric(schema, "exclusiveMaximum", path, (bound) => Math.ceil(bound) - 1),
    );
    if (least === undefined && most === undefined) return this.#rules.integer();
    if ((least ?? -Infinity) > (most ?? Infinity)) {
      throw this.#refuse([...path, "maximum"], "is under the minimum");
    }
    return this.#rule("integer", integerRange(least, most));
  }

  #number(schema: SchemaObject, path: readonly string[]): string {
    for (const keyword of ["exclusiveMinimum", "exclusiveMaximum"]) {
      if (schema[keyword] !== undefined) {
        throw this.#refuse([...path, keyword], "is supported for integers only");
      }
    }
    const whole = (keyword: string) =>
      this.#numeric(schema, keyword, path, (bound) => {
        if (Number.isInteger(bound)) return bound;
        throw this.#refuse([...path, keyword], "must be a whole number");
      });
    const [least, most] = [whole("minimum"), whole("maximum")];
    if (least === undefined && most === undefined) return this.#rules.number();
    if ((least ?? -Infinity) > (most ?? Infinity)) {
      throw this.#refuse([...path, "maximum"], "is under the minimum");
    }
    return this.#rule("number", decimalRange(least, most));
  }

  #numeric(
    schema: SchemaObject,
    keyword: string,
    path: readonly string[],
    round: (bound: number) => number,
  ): number | undefined {
    const bound = schema[keyword];
    if (bound === undefined) return undefined;
    if (typeof bound !== "number" || !Number.isSafeInteger(Math.trunc(bound))) {
      throw this.#refuse([...path, keyword], "is not a number that can be held");
    }
    return round(bound);
  }

  #bounds(
    schema: SchemaObject,
    least: string,
    most: string,
    path: readonly string[],
  ): [least: number, most: number | undefined] {
    const low = this.#numeric(schema, least, path, Math.ceil) ?? 0;
    const high = this.#numeric(schema, most, path, Math.floor);
    if (high !== undefined && high < low) throw this.#refuse([...path, most], `is under ${least}`);
    return [Math.max(0, low), high];
  }

  #checkKeywords(schema: SchemaObject, path: readonly string[]): void {
    const keyword = unsupported.find((name) => name in schema);
    if (keyword !== undefined) throw this.#refuse([...path, keyword], "is not supported");
    for (const union of ["anyOf", "oneOf"]) {
      const beside = union in schema && shaping.find((name) => name !== "type" && name in schema);
      if (beside) throw this.#refuse([...path, union], `is not supported beside '${beside}'`);
    }
  }

  #rule(name: string, body: string): string {
    return this.#rules.add(name, body);
  }

  #refuse(path: readonly string[], why: string): NodeError {
    const keyword = path.length === 0 ? "The schema" : `'${path.join("/")}'`;
    return new NodeError("invalid_request", `${this.#param}: ${keyword} ${why}.`, {
      param: this.#param,
    });
  }
}

function repeat(least: number, most: number | undefined): string {
  if (most === undefined) return least === 0 ? "*" : `{${least},}`;
  return `{${least},${most}}`;
}

function impliedType(schema: SchemaObject): string | undefined {
  if ("properties" in schema || "additionalProperties" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  if ("pattern" in schema || "minLength" in schema || "maxLength" in schema) return "string";
  if ("minimum" in schema || "maximum" in schema) return "number";
  return undefined;
}

const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const largest = (...values: (number | undefined)[]): number | undefined =>
  values.reduce((a, b) => (a === undefined ? b : b === undefined ? a : Math.max(a, b)));

const smallest = (...values: (number | undefined)[]): number | undefined =>
  values.reduce((a, b) => (a === undefined ? b : b === undefined ? a : Math.min(a, b)));
