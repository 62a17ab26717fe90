/** Declares an operation of the API, for the pipeline, the OpenAPI document, metrics and logs. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Scope } from "../core/limits/api-key.ts";
import type { RateLimit } from "../core/limits/rate-limiter.ts";
import type { EventFormat } from "./event-format.ts";
import type { ErrorFormat } from "./middleware/errors.ts";
import { fieldExaminer } from "./middleware/ignored-fields.ts";
import type { UploadForm } from "./middleware/multipart.ts";
import { type ListBound, queryReader } from "./middleware/read-request.ts";
import type { RequestContext } from "./request-context.ts";

/** The groups of the OpenAPI document. */
export const tags = {
  Chat: "Answers from a chat model.",
  Responses: "OpenAI's Responses API, on the same models.",
  Embeddings: "Vectors of texts.",
  Ollama: "Ollama's API, on the same models.",
  Retrieval: "Passages from the node's collection.",
  Files: "Uploaded files.",
  "Vector stores": "Collections of files that can be searched.",
  Models: "The node's models: what they are, and which are in memory.",
  Node: "What the node has, and how it is.",
};

/** A schema and its name in the OpenAPI document. */
export interface NamedSchema<Schema extends TSchema = TSchema> {
  name: string;
  schema: Schema;
}

/** `namedSchema({ ChatCompletion })`: the schema under that name. */
export function namedSchema<Schema extends TSchema>(
  one: Readonly<Record<string, Schema>>,
): NamedSchema<Schema> {
  for (const [name, schema] of Object.entries(one)) return { name, schema };
  throw new Error("A schema in the OpenAPI document needs a name");
}

/** An answer of that schema: `described({ ChatCompletion }, "The answer.", example)`. */
export const described = <Schema extends TSchema>(
  one: Readonly<Record<string, Schema>>,
  description: string,
  example: Static<Schema>,
) => ({ ...namedSchema(one), description, example });

/** A file sent as it is. A browser never shows it, since its author may not be trusted. */
export interface Download {
  content: Blob;
  filename: string;
}

export type Answer = {
  status?: number;
} & (
  | {
      json: object;
      /** Work that continues after the answer; the request ends when it does. */
      background?: Promise<void>;
    }
  /** Text, a large one perhaps in pieces; default: JSON that is already serialized. */
  | { text: string | AsyncIterable<string>; contentType?: string }
  /** Events in order; default format: `dataEvents`. */
  | { events: AsyncIterable<string>; format?: EventFormat }
  | { download: Download }
);

/** Facts about an operation for the OpenAPI document, logs, metrics, traces and the pipeline. */
export interface OperationFacts {
  method: string;
  /** In Elysia's syntax: `/v1/models/:id`. */
  path: string;
  /** The name in metrics, traces and logs; operations of one resource share it. */
  name: string;
  /** The name in OpenTelemetry's conventions for generative AI, if the operation runs a model. */
  genAiName?: "chat" | "text_completion" | "embeddings" | "retrieval";
  operationId: string;
  summary: string;
  description?: string;
  tag: keyof typeof tags;
  /** The scope that a key needs, on a node with keys. An operation with a scope is rate limited. */
  scope?: Scope;
  /**
   * Whether a request counts towards the caller's `concurrency`; default: true. One that polls or
   * ends work that already counts has a separate limit of the same size. Both count as requests.
   */
  takesPlace?: boolean;
  /**
   * Whether an operation without a scope needs a key. `optional`: everyone gets an answer, and a
   * caller with a key may get more. Default: `none`.
   */
  key?: "none" | "optional" | "required";
  /** Whether load balancers probe it. It reveals and costs nothing, so proxies may forward it. */
  isProbe?: boolean;
  /** Whether it is still served while the node stops. */
  whileDraining?: boolean;
  /** Whether it may take longer than a request usually may; it still ends with its client. */
  isLong?: boolean;
  /** Descriptions of the path parameters, by name. */
  parameters?: Readonly<Record<string, string>>;
  query?: TObject;
  /** The request body's schema, with an example that works as it is. */
  body?: NamedSchema & { example: unknown } & BodyReading;
  /** The schema of a `multipart/form-data` body, which is read as a stream. */
  form?: NamedSchema;
  answer: NamedSchema & { description: string; contentType?: string; example?: unknown };
  /** Default content type: `text/event-stream`. */
  stream?: NamedSchema & { description: string; contentType?: string; example: unknown };
  /** The format of its errors; default: the OpenAI API's. */
  errorFormat?: ErrorFormat;
  /** Headers that its clients expect, in addition to the OpenAI API's. */
  headerFormat?: HeaderFormat;
  /** Error statuses and their descriptions; with a schema if the body is not the usual error. */
  errors?: Readonly<Record<number, string | (NamedSchema & { description: string })>>;
}

interface ValidRequest<Body, Query, Parameter extends string = string> {
  body: Body;
  query: Query;
  parameters: Readonly<Record<Parameter, string>>;
  /** Streams the body of an operation that declares a form: it may be larger than memory. */
  form: UploadForm;
}

export type Handler<Body, Services, Query = object, Parameter extends string = string> = (
  request: ValidRequest<Body, Query, Parameter>,
  context: RequestContext,
  services: Services,
) => Answer | Promise<Answer>;

/** A declared operation. The type of its body is private; the pipeline sees only `ReadRequest`. */
export interface Operation<Services> {
  readonly facts: OperationFacts;
  readonly lists: readonly ListBound[];
  /** Reads a parsed body, if it takes one; returns undefined if the body breaks the schema. */
  read(body: unknown, asked: AskedFor): ReadRequest<Services> | undefined;
}

/** The parts of a request outside of its JSON body. */
export type AskedFor = Omit<ValidRequest<never, URLSearchParams>, "body">;

export interface ReadRequest<Services> {
  readonly model: string | undefined;
  /** Scopes that the key needs in addition to the operation's own. */
  readonly scopes: readonly Scope[];
  readonly answers: number;
  readonly requests: number;
  /** Fields for the prompt log; undefined: nothing is logged. */
  logged(): object | undefined;
  /** Names of the fields that are ignored; throws if one of them must be rejected. */
  ignored(): readonly string[];
  answer(context: RequestContext, services: Services): Answer | Promise<Answer>;
}

/** Headers that an API sends in addition to the OpenAI API's. */
export interface HeaderFormat {
  requestId: string;
  /** Headers with the rest of one of the caller's limits; `what`: `requests` or `tokens`. */
  rateLimit(what: string, limit: RateLimit): Record<string, string>;
}

interface BodyReading {
  /** Whether a body of any content type is read as JSON; default: only `application/json`. */
  takesAnyType?: boolean;
}

interface BodyRules<Body> extends BodyReading {
  /** The longest lists that the body may have, checked before their items. */
  lists?: readonly ListBound[];
  /** Further scopes that the key needs for this body. */
  scopes?: (body: Body) => readonly Scope[];
  /** How many answers it asks for; each counts towards the caller's `concurrency`. Default: 1. */
  answers?: (body: Body) => number;
  /** How many requests it counts as in the caller's limit per minute; default: 1. */
  requests?: (body: Body) => number;
  logged: (body: Body) => object;
}

interface Declaration<
  Body extends TSchema,
  Query extends TObject,
  Parameter extends string,
  Services,
> extends Omit<OperationFacts, "method" | "path"> {
  route: `${"GET" | "POST" | "DELETE"} /${string}`;
  body?: NamedSchema<Body> & { example: Static<Body> } & BodyRules<Static<Body>>;
  query?: Query;
  parameters?: Readonly<Record<Parameter, string>>;
  handler: Handler<Static<Body>, Services, Static<Query>, Parameter>;
}

export function defineOperation<
  Body extends TSchema,
  Query extends TObject,
  Parameter extends string,
  Services extends object,
>({ handler, route, ...rest }: Declaration<Body, Query, Parameter, Services>): Operation<Services> {
  const [method = "", path = ""] = route.split(" ");
  const facts = { method, path, ...rest };
  const { body } = facts;
  const checker = body && TypeCompiler.Compile(body.schema);
  const isValid = (value: unknown): value is Static<Body> => checker?.Check(value) ?? true;
  const ignoredFields = body === undefined ? () => [] : fieldExaminer(body.schema);
  const readQuery = queryReader(facts.query);
  return {
    facts,
    lists: body?.lists ?? [],
    read(value, asked) {
      if (!isValid(value)) return undefined;
      const { query, ignored } = readQuery(asked.query);
      return {
        model: modelOf(value),
        scopes: body?.scopes?.(value) ?? [],
        answers: body?.answers?.(value) ?? 1,
        requests: body?.requests?.(value) ?? 1,
        logged: () => body?.logged(value),
        ignored: () => [...ignored(), ...ignoredFields(value)],
        answer: (context, services) => handler({ ...asked, body: value, query }, context, services),
      };
    },
  };
}

function modelOf(body: unknown): string | undefined {
  const model: unknown = Object(body).model;
  return typeof model === "string" ? model : undefined;
}
