/** Describes an operation for the OpenAPI document, the same way for every route. */

export const tags = {
  chat: "Chat",
  embeddings: "Embeddings",
  retrieval: "Retrieval",
  node: "Node",
} as const;

interface Content {
  schema: string;
  example: unknown;
}

export interface OperationDescription {
  operationId: string;
  summary: string;
  description?: string;
  tag: (typeof tags)[keyof typeof tags];
  /** Name of the request body's schema, with a body that works as it stands. */
  body?: Content;
  /** What 200 answers. */
  answer: Content & { description: string };
  /** The streamed form of the answer. */
  stream?: Content & { description: string };
  /** Further statuses, each with when it comes. */
  errors: Readonly<Record<number, string>>;
  /** Whether the operation wants a key where keys are configured. */
  secured?: boolean;
}

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export function operation({
  operationId,
  summary,
  description,
  tag,
  body,
  answer,
  stream,
  errors,
  secured = false,
}: OperationDescription) {
  const errorResponses = Object.entries(errors).map(([status, when]) => [
    status,
    { description: when, content: { "application/json": { schema: reference("Error") } } },
  ]);
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    // An empty requirement beside the bearer scheme: a node without keys takes none.
    security: secured ? [{ bearer: [] }, {}] : [],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: reference(body.schema), example: body.example },
            },
          },
        }),
    responses: {
      200: {
        description: answer.description,
        content: {
          "application/json": { schema: reference(answer.schema), example: answer.example },
          ...(stream === undefined
            ? {}
            : {
                "text/event-stream": {
                  schema: { ...reference(stream.schema), description: stream.description },
                  example: stream.example,
                },
              }),
        },
      },
      ...Object.fromEntries(errorResponses),
    },
  };
}

/** The errors of every operation that takes a JSON body and names a model. */
export const modelErrors: Readonly<Record<number, string>> = {
  400: "Malformed JSON or an invalid field; `param` names it.",
  401: "The key is missing or wrong, where the node wants one.",
  403: "The key does not open this operation, the request is for another host than the node's, or a proxy passed it on to a node without keys.",
  408: "The body did not arrive in time.",
  413: "The body is too large.",
  415: "The body is not JSON.",
  429: "The caller's limit is reached: code `rate_limit_exceeded`, type `requests` or `tokens`; `Retry-After` says when to ask again.",
  500: "The named model is not on this node, or of another type: code `model_not_found`.",
  503: "The model or the collection is not ready yet.",
};
