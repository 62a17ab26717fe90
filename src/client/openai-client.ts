/** A client of the OpenAI API's chat completions, and of what a node of Paddock offers beyond it. */
import type { Static, TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { NodeError, reasonOf } from "../core/errors.ts";
import { type AnswerPiece, answerPieces, messageOf, wholeAnswer } from "./answer-stream.ts";
import { Failure, ModelNames, NodeModels, Points } from "./wire.ts";

export interface ClientOptions {
  /** `http://host:8080`, `https://host/api/v1`; without a path, `/v1` is meant. */
  url: string;
  key?: string;
}

export interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

export interface FoundPassage {
  source: string;
  score: number;
  /** Where it comes from, where the server says so. */
  place?: string;
}

export class OpenAiClient {
  /** Where the API is, without a slash at its end. */
  readonly base: string;
  readonly #key: string | undefined;

  constructor({ url, key }: ClientOptions) {
    this.base = baseOf(url);
    this.#key = key;
  }

  /** The models to chat with: a node says which those are, other servers name all they have. */
  async chatModels(signal: AbortSignal): Promise<string[]> {
    const { data } = await this.#json(ModelNames, "/models", { signal });
    const known = await this.#typesOfModels(signal);
    const names = data.map(({ id }) => id);
    return known === undefined ? names : names.filter((name) => known.get(name) !== "embedding");
  }

  /** Ends where the answer does. */
  async *answer(
    request: { model: string; messages: readonly Message[] },
    signal: AbortSignal,
  ): AsyncGenerator<AnswerPiece> {
    const body = { ...request, stream: true };
    const response = await this.#ask("/chat/completions", { body, signal });
    const type = response.headers.get("content-type") ?? "";
    if (type.includes("json")) yield* wholeAnswer(await response.json());
    else yield* answerPieces(response.body ?? new ReadableStream());
  }

  /** The passages that a node finds for a question. */
  async retrieve(question: string, signal: AbortSignal): Promise<FoundPassage[]> {
    const models = [...((await this.#typesOfModels(signal)) ?? [])].filter(
      ([, type]) => type === "embedding",
    );
    let refusal = new NodeError(
      "unavailable",
      `The server at ${this.base} does not retrieve: it is no node of Paddock, or has no embedding model.`,
    );
    // Which of them fills the collection is not told.
    for (const [model] of models) {
      try {
        return await this.#retrieveWith(model, question, signal);
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        refusal = error;
      }
    }
    throw refusal;
  }

  async #retrieveWith(
    model: string,
    question: string,
    signal: AbortSignal,
  ): Promise<FoundPassage[]> {
    const messages = [{ role: "user", content: question }];
    const body = { model, messages, include_metadata: true };
    const { points } = await this.#json(Points, "/retrieve", { body, signal });
    return points.map(({ source, score, metadata }) => {
      const place = [metadata?.document, metadata?.heading].filter(Boolean).join(": ");
      return { source, score, ...(place === "" ? {} : { place }) };
    });
  }

  /** By name; undefined where the server is no node. */
  async #typesOfModels(signal: AbortSignal): Promise<Map<string, string> | undefined> {
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(infoMs)]);
      const { models } = await this.#json(NodeModels, "/info", { signal: patience });
      return new Map(models.map(({ name, type }) => [name, type]));
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  async #json<Schema extends TSchema>(
    schema: Schema,
    path: string,
    request: { body?: object; signal: AbortSignal },
  ): Promise<Static<Schema>> {
    const response = await this.#ask(path, request);
    const body: unknown = await response.json().catch(() => undefined);
    if (Value.Check(schema, body)) return body;
    throw new NodeError(
      "unavailable",
      `What ${this.base}${path} answers is not of the OpenAI API. Check the address; most end in /v1.`,
    );
  }

  async #ask(
    path: string,
    { body, signal }: { body?: object; signal: AbortSignal },
  ): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${this.base}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // A key goes to the server that was named, and to no other.
        redirect: "manual",
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      throw new NodeError(
        "unavailable",
        `Nothing answers at ${this.base} (${reasonOf(cause)}). Check the address, and that the server runs.`,
        { cause },
      );
    }
    if (response.ok) return response;
    throw await this.#refusal(response);
  }

  async #refusal(response: Response): Promise<NodeError> {
    const { status } = response;
    const to = response.headers.get("location");
    if (status >= 300 && status < 400 && to !== null) {
      return new NodeError("unavailable", `${this.base} has moved; give its new address: ${to}`);
    }
    const body: unknown = await response.json().catch(() => undefined);
    const said = Value.Check(Failure, body) ? ` ${messageOf(body)}` : "";
    if (status === 401) {
      const advice =
        this.#key === undefined
          ? "Set the environment variable PADDOCK_KEY to one."
          : "PADDOCK_KEY holds another.";
      return new NodeError("unauthenticated", `The server wants a key (401).${said} ${advice}`);
    }
    if (status === 404 && said === "") {
      return new NodeError(
        "not_found",
        `${this.base} knows no such path (404). Check the address; most end in /v1.`,
      );
    }
    return new NodeError("unavailable", `The server refused (${status}).${said}`);
  }
}

/** What only a node tells is not waited for long. */
const infoMs = 5000;

function baseOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new NodeError(
      "invalid_request",
      `'${url}' is no address of a server; write it as http://127.0.0.1:8080 or https://host/v1.`,
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new NodeError(
      "invalid_request",
      "The address holds a credential; set the environment variable PADDOCK_KEY instead.",
    );
  }
  const path = parsed.pathname.replace(/\/+$/, "");
  return `${parsed.origin}${path === "" ? "/v1" : path}`;
}
