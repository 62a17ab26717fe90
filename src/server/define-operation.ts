/** Makes an operation of what its folder declares: facts, a schema, and a handler. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { NodeError } from "../core/errors.ts";
import type { Scope } from "../core/limits/api-key.ts";
import { fieldExaminer } from "./middleware/ignored-fields.ts";
import type { UploadForm } from "./middleware/multipart.ts";
import { type ListBound, queryReader } from "./middleware/read-request.ts";
import type { Handler, NamedSchema, Operation, OperationFacts } from "./operation.ts";

interface BodyRules<Body> {
  /** How long lists of the body may be, which is looked at before anything in them. */
  lists?: readonly ListBound[];
  /** What the key must open besides, for what the body asks. */
  scopes?: (body: Body) => readonly Scope[];
  /** How many answers it is for, each of which takes a place of the caller's `concurrency`; default: 1. */
  answers?: (body: Body) => number;
  /** As how many requests a minute it counts; default: 1. */
  requests?: (body: Body) => number;
  /** What the prompt log says of the request. */
  logged: (body: Body) => object;
}

interface Declaration<Schema extends TSchema, Services> extends OperationFacts {
  body: NamedSchema<Schema> & { example: Static<Schema> } & BodyRules<Static<Schema>>;
  handler: Handler<Static<Schema>, Services>;
}

interface DeclarationWithoutBody<Services> extends OperationFacts {
  body?: never;
  query?: never;
  handler: Handler<undefined, Services>;
}

interface DeclarationWithQuery<Query extends TObject, Services> extends OperationFacts {
  body?: never;
  query: Query;
  handler: Handler<undefined, Services, Static<Query>>;
}

interface UploadDeclaration<Services> extends OperationFacts {
  form: NamedSchema;
  handler: Handler<UploadForm, Services>;
}

export function defineOperation<Schema extends TSchema, Services extends object>({
  body,
  handler,
  ...facts
}: Declaration<Schema, Services>): Operation<Services> {
  const { name, schema, example, lists = [], ...rules } = body;
  const checker: TypeCheck<Schema> = TypeCompiler.Compile(schema);
  const { logged, scopes = () => [] } = rules;
  const ignored = fieldExaminer(schema);
  const { answers = () => 1, requests = () => 1 } = rules;
  return {
    facts: { ...facts, body: { name, schema, example } },
    lists,
    read(value, { parameters }) {
      if (!checker.Check(value)) return undefined;
      return {
        model: modelOf(value),
        scopes: scopes(value),
        answers: answers(value),
        requests: requests(value),
        logged: () => logged(value),
        ignored: () => ignored(value),
        answer: (context, services) =>
          handler({ body: value, query: {}, parameters }, context, services),
      };
    },
  };
}

/** Of a request that has no body, or whose body is read by the handler. */
const bare = {
  model: undefined,
  scopes: [],
  answers: 1,
  requests: 1,
  logged: () => undefined,
  ignored: () => [],
};

export function defineOperationWithoutBody<Services extends object>({
  handler,
  ...facts
}: DeclarationWithoutBody<Services>): Operation<Services> {
  return {
    facts,
    lists: [],
    read: (_body, { parameters }) => ({
      ...bare,
      answer: (context, services) =>
        handler({ body: undefined, query: {}, parameters }, context, services),
    }),
  };
}

/** One without a body, whose address says more behind a `?`. */
export function defineOperationWithQuery<Query extends TObject, Services extends object>({
  handler,
  ...facts
}: DeclarationWithQuery<Query, Services>): Operation<Services> {
  const readQuery = queryReader(facts.query);
  return {
    facts,
    lists: [],
    read(_body, { parameters, query: asked }) {
      const { query, ignored } = readQuery(asked);
      return {
        ...bare,
        ignored,
        answer: (context, services) =>
          handler({ body: undefined, query, parameters }, context, services),
      };
    },
  };
}

/** Its handler reads the form as it comes: it may be larger than the memory. */
export function defineUpload<Services extends object>({
  handler,
  ...facts
}: UploadDeclaration<Services>): Operation<Services> {
  return {
    facts,
    lists: [],
    read(_body, { parameters, form }) {
      if (form === undefined) throw new NodeError("internal", "An upload came without its form.");
      return {
        ...bare,
        answer: (context, services) =>
          handler({ body: form, query: {}, parameters }, context, services),
      };
    },
  };
}

function modelOf(body: unknown): string | undefined {
  const model: unknown = Object(body).model;
  return typeof model === "string" ? model : undefined;
}
