/** Compiles a JSON Schema to a grammar that allows only JSON which validates against it. */
import { NodeError, type Subject } from "../../core/errors.ts";
import {
  beginsWithItself,
  everyKind,
  type Kind,
  meant,
  OpenParses,
  type Part,
} from "./ambiguity.ts";
import { textsGrammar } from "./automaton.ts";
import { arrayGrammar, type Container, objectGrammar, type PartContext } from "./containers.ts";
import { deepestSchema, mostOpenParses, OverBudget, shown } from "./limits.ts";
import type { GrammarRules } from "./rules.ts";
import { integerGrammar, numberGrammar, stringGrammar } from "./scalars.ts";
import {
  assertions,
  isObject,
  isOfType,
  type Path,
  type SchemaObject,
  SchemaResolver,
} from "./schema-resolver.ts";

export class JsonSchemaCompiler {
  readonly #rules: GrammarRules;
  readonly #root: unknown;
  readonly #resolver: SchemaResolver;
  readonly #subject: Subject;
  readonly #parses: OpenParses;
  readonly #parts = new Map<object, Part>();
  readonly #merged = new Map<string, Part>();
  readonly #references = new Map<unknown, Part>();
  readonly #choices: { path: Path; part: Part }[] = [];

  constructor(rules: GrammarRules, root: unknown, subject: Subject) {
    this.#rules = rules;
    this.#root = root;
    this.#subject = subject;
    this.#parses = new OpenParses(rules.budget);
    this.#resolver = new SchemaResolver({
      root,
      budget: rules.budget,
      refuse: (path, why) => this.#refuse(path, why),
    });
  }

  /** The rule for the whole document, and how many parses of an answer stay open with it. */
  compile(): { rule: string; parses: number } {
    try {
      const { text, parses } = this.#schema(this.#root, [], 0);
      this.#parses.settle();
      for (const { path, part } of this.#choices) this.#checkChoice(part, path);
      return { rule: this.#rules.addPart("schema", text), parses: parses.value };
    } catch (error) {
      if (error instanceof OverBudget) throw this.#refuse([], error.message);
      throw error;
    }
  }

  #schema(schema: unknown, path: Path, depth: number): Part {
    this.#rules.budget.spend();
    if (depth > deepestSchema) {
      throw this.#refuse(path, `is nested deeper than ${deepestSchema} levels`);
    }
    if (schema === true) return this.#part(this.#rules.value(), everyKind);
    if (!isObject(schema)) throw this.#refuse(path, "is not a schema: an object or true is needed");
    const known = this.#parts.get(schema);
    if (known !== undefined) return known;
    this.#resolver.checkKeywords(schema, path);
    const body = this.#shape(schema, path, depth);
    const whole =
      schema.nullable === true
        ? this.#choice([body, this.#part(this.#rules.null(), ["null"])], path)
        : body;
    const part = this.#short(whole, path);
    this.#parts.set(schema, part);
    return part;
  }

  #part(text: string, kinds: readonly Kind[], inside: readonly Part[] = []): Part {
    return { text, kinds, parses: this.#parses.most(inside.map(({ parses }) => parses)) };
  }

  #short(part: Part, path: Path): Part {
    const text = this.#rules.short(path.at(-1) ?? "schema", part.text);
    return text === part.text ? part : { ...part, text };
  }

  #shape(schema: SchemaObject, path: Path, depth: number): Part {
    if (schema.$ref !== undefined) {
      const { $ref, ...beside } = assertions(schema);
      if (Object.keys(beside).length === 0) return this.#reference($ref, path, depth);
      return this.#joined(beside, [{ $ref }], [...path, "$ref"], depth);
    }
    if (schema.allOf !== undefined) {
      const { allOf, ...beside } = schema;
      const at = [...path, "allOf"];
      return this.#joined(beside, this.#resolver.list(allOf, at), at, depth);
    }
    for (const keyword of ["anyOf", "oneOf"] as const) {
      if (schema[keyword] !== undefined) return this.#union(schema, keyword, path, depth);
    }
    if ("const" in schema || schema.enum !== undefined) return this.#values(schema, path);
    if (Array.isArray(schema.type)) {
      const types = [...new Set(this.#resolver.list(schema.type, [...path, "type"]))];
      const parts = types.map((type) =>
        this.#short(this.#typed({ ...schema, type }, path, depth), path),
      );
      return this.#choice(parts, [...path, "type"]);
    }
    return this.#typed(schema, path, depth);
  }

  #typed(schema: SchemaObject, path: Path, depth: number): Part {
    switch (schema.type ?? impliedType(schema)) {
      case "object":
        return this.#container("object", objectGrammar(schema, this.#contextAt(path, depth)));
      case "array":
        return this.#container("array", arrayGrammar(schema, this.#contextAt(path, depth)));
      case "string":
        return this.#part(stringGrammar(schema, this.#contextAt(path, depth)), ["string"]);
      case "integer":
        return this.#part(integerGrammar(schema, this.#contextAt(path, depth)), ["number"]);
      case "number":
        return this.#part(numberGrammar(schema, this.#contextAt(path, depth)), ["number"]);
      case "boolean":
        return this.#part(this.#rules.boolean(), ["boolean"]);
      case "null":
        return this.#part(this.#rules.null(), ["null"]);
      case undefined:
        return this.#part(this.#rules.value(), everyKind);
      default:
        throw this.#refuse([...path, "type"], `'${shown(schema.type)}' is not a JSON type`);
    }
  }

  /** The values of `const` and `enum` that `type` allows. */
  #values(schema: SchemaObject, path: Path): Part {
    const { const: only, enum: listed, type, ...rest } = assertions(schema);
    const [beside] = Object.keys(rest).filter((keyword) => keyword !== "nullable");
    const keyword = listed === undefined ? "const" : "enum";
    if (beside !== undefined) {
      throw this.#refuse([...path, keyword], `is not supported beside '${beside}'`);
    }
    const values = listed === undefined ? [only] : this.#resolver.list(listed, [...path, "enum"]);
    const types = type === undefined || Array.isArray(type) ? type : [type];
    const { budget } = this.#rules;
    const fixed = "const" in schema ? budget.json(only) : undefined;
    const allowed = values
      .filter((value) => types === undefined || types.some((name) => isOfType(value, name)))
      .map((value) => budget.json(value))
      .filter((value) => fixed === undefined || value === fixed);
    if (allowed.length === 0) throw this.#refuse([...path, keyword], "allows no value");
    return this.#fixed(allowed);
  }

  #fixed(values: readonly string[]): Part {
    const kinds = [...new Set(values.map(kindOf))];
    return { ...this.#part(textsGrammar(this.#rules, values), kinds), values };
  }

  #union(schema: SchemaObject, keyword: "anyOf" | "oneOf", path: Path, depth: number): Part {
    const { [keyword]: listed, ...beside } = schema;
    const at = [...path, keyword];
    const options = this.#resolver.list(listed, at);
    if (keyword === "oneOf") this.#resolver.checkDisjoint(options, at);
    const plain = Object.keys(assertions(beside)).every((name) => name === "nullable");
    const parts = options.map((option, index) =>
      plain
        ? this.#schema(option, [...at, String(index)], depth + 1)
        : this.#joined(beside, [option], [...at, String(index)], depth),
    );
    return this.#choice(parts, at);
  }

  #choice(parts: readonly Part[], path: Path): Part {
    const fixed = parts.flatMap((part) => meant(part).values ?? []);
    const free = parts.filter((part) => meant(part).values === undefined);
    const options = fixed.length === 0 ? free : [this.#fixed(fixed), ...free];
    const distinct = [...new Map(options.map((option) => [option.text, option])).values()];
    const [only, ...others] = distinct;
    if (only !== undefined && others.length === 0) return only;
    const part: Part = {
      text: distinct.map(({ text }) => `(${text})`).join(" | "),
      kinds: [],
      parses: this.#parses.choice(distinct),
      options: distinct,
    };
    this.#choices.push({ path, part });
    return part;
  }

  #checkChoice(part: Part, path: Path): void {
    if (part.parses.value <= mostOpenParses) return;
    const why = beginsWithItself(part, this.#rules.budget)
      ? "refers to itself before anything is written"
      : `keeps more than ${mostOpenParses} parses of an answer open; put a property that tells the options apart first, required and with a const`;
    throw this.#refuse(path, why);
  }

  #joined(beside: SchemaObject, parts: readonly unknown[], path: Path, depth: number): Part {
    const merged = this.#resolver.join(beside, parts, path, depth);
    const key = this.#rules.budget.json(merged);
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const part = this.#schema(merged, path, depth + 1);
    this.#merged.set(key, part);
    return part;
  }

  #reference(reference: unknown, path: Path, depth: number): Part {
    if (typeof reference !== "string") throw this.#refuse([...path, "$ref"], "is not a string");
    const target = this.#resolver.lookUp(reference, path);
    const known = this.#references.get(target);
    if (known !== undefined) return known;
    const name = this.#rules.reserve(`ref-${reference.split("/").at(-1)}`);
    const meant: Part[] = [];
    const part: Part = { ...this.#part(name, []), options: meant };
    this.#references.set(target, part);
    const body = this.#schema(target, [reference], depth + 1);
    if (body.text === name) {
      throw this.#refuse([...path, "$ref"], "refers to itself and to nothing else");
    }
    this.#rules.define(name, body.text);
    meant.push(body);
    part.parses.sums.push([body.parses]);
    return part;
  }

  #container(kind: "object" | "array", { text, inside, ...members }: Container): Part {
    return { ...this.#part(text, [kind], inside), ...members };
  }

  #contextAt(path: Path, depth: number): PartContext {
    return {
      rules: this.#rules,
      refuse: (keyword, why) => this.#refuse([...path, keyword], why),
      compile: (schema, ...steps) => this.#schema(schema, [...path, ...steps], depth + 1),
    };
  }

  #refuse(path: Path, why: string): NodeError {
    const keyword = path.length === 0 ? "The schema" : `'${shown(path.join("/"))}'`;
    return new UnsupportedSchema(`${keyword} ${why}.`, path, this.#subject);
  }
}

function kindOf(json: string): Kind {
  const value: unknown = JSON.parse(json);
  return everyKind.find((kind) => isOfType(value, kind)) ?? "number";
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

function impliedType(schema: SchemaObject): string | undefined {
  return Object.entries(impliedTypes).find(([, keywords]) =>
    keywords.some((keyword) => keyword in schema),
  )?.[0];
}

export class UnsupportedSchema extends NodeError {
  /** Where in the schema; after a reference, the first step is the reference. Empty: the whole schema. */
  readonly path: Path;

  constructor(message: string, path: Path, subject: Subject) {
    super("invalid_request", message, { subject });
    this.path = path;
  }
}
