/** What an operation is to the pipeline, the OpenAPI document, metrics and logs; and how one is declared. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Scope } from "../core/limits/api-key.ts";
import type { RateLimitStatus } from "../core/limits/rate-limiter.ts";
import type { ErrorFormat } from "./middleware/errors.ts";
import { fieldExaminer } from "./middleware/ignored-fields.ts";
import type { UploadForm } from "./middleware/multipart.ts";
import { type ListBound, queryReader } from "./middleware/read-request.ts";
import type { RequestContext } from "./request-context.ts";
import type { EventFormat } from "./sse.ts";

export const tags = {
  chat: "Chat",
  responses: "Responses",
  embeddings: "Embeddings",
  retrieval: "Retrieval",
  files: "Files",
  vectorStores: "Vector stores",
  node: "Node",
} as const;

/** A schema under its name in the OpenAPI document. */
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

/** A file that is sent as it is, and never shown by a browser: who wrote it is not known. */
export interface Download {
  content: Blob;
  filename: string;
}

export type Answer = {
  /** Default: 200. */
  status?: number;
} & (
  | {
      json: object;
      /** What continues for the request when this is answered; the request ends with it. */
      background?: Promise<void>;
    }
  /** Text of a type of its own, or JSON that is written already. */
  | { text: string; contentType: string }
  /** Server-sent events in their order; default format: data alone. */
  | { events: AsyncIterable<string>; format?: EventFormat }
  | { download: Download }
);

/** What the OpenAPI document, the log, metrics, traces and the pipeline know of an operation. */
export interface OperationFacts {
  method: "GET" | "POST" | "DELETE";
  /** As Elysia writes it: `/v1/models/:id`. */
  path: string;
  /** In metrics, traces and logs; operations of one resource share it. */
  name: string;
  /** What OpenTelemetry's conventions for generative AI call it, where a model works for it. */
  genAiName?: "chat" | "text_completion" | "embeddings" | "retrieval";
  operationId: string;
  summary: string;
  description?: string;
  tag: (typeof tags)[keyof typeof tags];
  /** What the key must open, where keys are wanted; such an operation is rate limited. */
  scope?: Scope;
  /**
   * Whether a request takes a place of the caller's `concurrency`; default: it does. One that asks for
   * what holds such a place, or ends it, takes one of as many others. It counts as a request all the same.
   */
  takesPlace?: boolean;
  /**
   * Whether a key is asked for where there is no scope. `optional`: everyone is answered, and callers
   * with a key may be told more. Default: `none`.
   */
  key?: "none" | "optional" | "required";
  /** Whether load balancers ask it: it tells nothing and costs nothing, so a proxy may pass it on. */
  isProbe?: boolean;
  /** Whether it is answered while the node stops. */
  whileDraining?: boolean;
  /** Path parameters, by name, with what each is. */
  parameters?: Readonly<Record<string, string>>;
  /** What may stand behind the `?`. */
  query?: TObject;
  /** The request body's schema, with a body that works as it stands. */
  body?: NamedSchema & { example: unknown };
  /** The same for a body of `multipart/form-data`, which is read as it comes. */
  form?: NamedSchema;
  answer: NamedSchema & { description: string; contentType?: string; example?: unknown };
  /** The streamed form of the answer. */
  stream?: NamedSchema & { description: string; example: unknown };
  /** How its errors are written; default: as the OpenAI API has them. */
  errorFormat?: ErrorFormat;
  /** Headers that its clients look for, beside those of the OpenAI API. */
  headerFormat?: HeaderFormat;
  /** Further statuses, each with when it comes; a body other than the error's is named. */
  errors: Readonly<Record<number, string | (NamedSchema & { description: string })>>;
}

interface ValidRequest<Body, Query> {
  body: Body;
  query: Query;
  parameters: Readonly<Record<string, string>>;
  /** Reads the body of an operation that declares a form, as it comes: it may be larger than the memory. */
  form: UploadForm;
}

/** A plain function from a valid request and its context to an answer. */
export type Handler<Body, Services, Query = object> = (
  request: ValidRequest<Body, Query>,
  context: RequestContext,
  services: Services,
) => Answer | Promise<Answer>;

/** A declared operation. The type of its body is its own affair: the pipeline sees what follows from it. */
export interface Operation<Services> {
  readonly facts: OperationFacts;
  readonly lists: readonly ListBound[];
  /** Reads a parsed body, or nothing where it takes none; undefined where the body breaks the schema. */
  read(body: unknown, asked: AskedFor): ReadRequest<Services> | undefined;
}

/** What of a request is not in its JSON body. */
export type AskedFor = Omit<ValidRequest<never, URLSearchParams>, "body">;

export interface ReadRequest<Services> {
  readonly model: string | undefined;
  /** What the key must open besides the operation's own scope. */
  readonly scopes: readonly Scope[];
  readonly answers: number;
  /** As how many requests it counts. */
  readonly requests: number;
  /** What the prompt log says of it; undefined: nothing. */
  logged(): object | undefined;
  /** Names of the fields that are not acted on; throws where one of them must be refused. */
  ignored(): readonly string[];
  answer(context: RequestContext, services: Services): Answer | Promise<Answer>;
}

/** Headers that an API has beside those of the OpenAI API, which are sent too. */
export interface HeaderFormat {
  /** The name of the one with the request's id. */
  requestId: string;
  /** What a caller has left. */
  rateLimit(status: RateLimitStatus): Record<string, string>;
}

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

interface Declaration<Body extends TSchema, Query extends TObject, Services>
  extends OperationFacts {
  body?: NamedSchema<Body> & { example: Static<Body> } & BodyRules<Static<Body>>;
  query?: Query;
  handler: Handler<Static<Body>, Services, Static<Query>>;
}

export function defineOperation<
  Body extends TSchema,
  Query extends TObject,
  Services extends object,
>({ handler, ...facts }: Declaration<Body, Query, Services>): Operation<Services> {
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
