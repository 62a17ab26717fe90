/** Describes operations for the OpenAPI document. */
import type { TSchema } from "@sinclair/typebox";
import { given } from "../core/given.ts";
import type { NamedSchema, OperationFacts } from "./operation.ts";
import { ErrorAnswer } from "./wire/fields.ts";

const errorSchema: NamedSchema = { name: "Error", schema: ErrorAnswer };

export const modelErrors: Readonly<Record<number, string>> = {
  400: "Malformed JSON or an invalid field; `param` names it.",
  401: "The key is missing or wrong, on a node with keys.",
  403: "The key lacks the scope, the host is not the node's, or a proxy forwarded the request to a node without keys.",
  404: "There is no such model, or it has another type: code `model_not_found`.",
  429: "The caller's limit is reached: code `rate_limit_exceeded`, type `requests` or `tokens`; `Retry-After` says when to try again.",
  502: "A model's upstream server failed (`upstream_failed`), or rejects the node's key or the model's name (`upstream_refused`); or the server of the collections refuses a request (`upstream_refused`).",
  503: "The model or the collection is not ready yet.",
  504: "The answer took longer than the node allows.",
};

/** `modelErrors` for the specification's operations, whose status for an unknown model is 500. */
export const specifiedModelErrors: Readonly<Record<number, string>> = (() => {
  const { 404: unknownModel = "", ...others } = modelErrors;
  return { ...others, 500: unknownModel };
})();

export const documentErrors: Readonly<Record<number, string>> = {
  400: "A field or a parameter is invalid; `param` names it.",
  401: "The key is missing or wrong, on a node with keys.",
  403: "The key lacks the scope, or is bound to other vector stores.",
  404: "There is no such object, or it belongs to another key.",
  429: "The caller's limit is reached: code `rate_limit_exceeded`; or its quota or the node's: code `insufficient_quota`.",
  503: "The store is away, the disk full, or another node has the data dir.",
};

/** `documentErrors` of operations that reach the collections. */
export const storeErrors: Readonly<Record<number, string>> = {
  ...documentErrors,
  502: "The server of the collections refuses a request: code `upstream_refused`.",
};

/** Errors of every operation with a JSON body, in addition to its own. */
const bodyErrors: Readonly<Record<number, string>> = {
  408: "The body did not arrive in time.",
  413: "The body is too large.",
};

const typeError: Readonly<Record<number, string>> = { 415: "The body is not JSON, or compressed." };
const encodingError: Readonly<Record<number, string>> = { 415: "The body is compressed." };

export const uploadErrors: Readonly<Record<number, string>> = {
  ...documentErrors,
  408: "The upload paused for too long.",
  413: "The file is too large.",
  415: "The body is not a form, or compressed.",
};

const reference = ({ name }: NamedSchema) => ({ $ref: `#/components/schemas/${name}` });

const json = "application/json";
const multipart = "multipart/form-data";

export function describe(facts: OperationFacts) {
  const { operationId, summary, description, tag, parameters, query } = facts;
  const isSecured = facts.scope !== undefined || facts.key === "required";
  return {
    operationId,
    summary,
    ...given({ description }),
    tags: [tag],
    // The empty requirement stands for a node without keys.
    security: isSecured ? [{ bearer: [] }, { apiKey: [] }, {}] : [],
    ...describeBody(facts),
    responses: { 200: describeAnswer(facts), ...describeErrors(facts) },
    ...describeParameters(parameters ?? {}, query?.properties ?? {}),
  };
}

function describeBody({ body, form }: OperationFacts) {
  const { name, content } =
    form === undefined ? { name: body, content: json } : { name: form, content: multipart };
  if (name === undefined) return {};
  const example = body === undefined ? {} : { example: body.example };
  const schema = { schema: reference(name), ...example };
  return { requestBody: { required: true, content: { [content]: schema } } };
}

function describeParameters(
  path: Readonly<Record<string, string>>,
  query: Readonly<Record<string, TSchema>>,
) {
  const parameters = [
    ...Object.entries(path).map(([name, description]) => ({
      name,
      in: "path" as const,
      required: true,
      schema: { type: "string" as const },
      description,
    })),
    ...Object.entries(query).map(([name, { description, ...schema }]) => ({
      name,
      in: "query" as const,
      required: false,
      schema,
      ...given({ description }),
    })),
  ];
  return parameters.length === 0 ? {} : { parameters };
}

function describeAnswer({ answer, stream }: OperationFacts) {
  const { contentType = json, description, example } = answer;
  const streamed = stream?.contentType ?? "text/event-stream";
  return {
    description,
    content: {
      [contentType]: { schema: reference(answer), ...given({ example }) },
      ...(stream && {
        [streamed]: {
          schema: { ...reference(stream), description: stream.description },
          example: stream.example,
        },
      }),
    },
  };
}

function describeErrors({ body, errors, errorFormat }: OperationFacts) {
  const schemaOfErrors: NamedSchema = errorFormat ?? errorSchema;
  const ofBody = body && {
    ...bodyErrors,
    ...(body.takesAnyType === true ? encodingError : typeError),
  };
  const described = Object.entries({ ...ofBody, ...errors }).map(([status, error]) => {
    const { description, ...schema } =
      typeof error === "string" ? { ...schemaOfErrors, description: error } : error;
    return [status, { description, content: { [json]: { schema: reference(schema) } } }] as const;
  });
  return Object.fromEntries(described);
}

export function schemasOf(all: readonly OperationFacts[]): Record<string, TSchema> {
  const named = all.flatMap(({ body, form, answer, stream, errors, errorFormat }) => [
    ...[body, form, answer, stream, errorFormat].filter((schema) => schema !== undefined),
    ...Object.values(errors ?? {}).filter((error) => typeof error !== "string"),
  ]);
  return Object.fromEntries([...named, errorSchema].map(({ name, schema }) => [name, schema]));
}
