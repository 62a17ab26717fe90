/** The server of `--url`: its base URL and its errors as messages, and the client of a chat's server. */
import { ApiClient, type ChatRequest } from "../client/api-client.ts";
import { ApiError } from "../client/api-error.ts";
import { readChunks } from "../client/event-stream.ts";
import { isObject, listAt, numberAt, objectAt, textAt } from "../client/json-fields.ts";
import type { ModelList } from "../client/wire.ts";
import type { Config } from "../config/schema.ts";
import { connectionReason } from "../core/connection-reason.ts";
import { NodeError, reasonOf } from "../core/errors.ts";
import { dataDirOf } from "../node/node-settings.ts";
import { findNodes } from "../node/running-node.ts";
import { CommandError, type Shell } from "./shell.ts";

/** The API's base URL. Without a path, `/v1` is added. */
export function baseUrlOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandError(
      `'${url}' is no address of a server; write it as http://127.0.0.1:8080 or https://host/v1.`,
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new CommandError(
      "The address holds a credential; set the environment variable PADDOCK_KEY instead.",
    );
  }
  const path = parsed.pathname.replace(/\/+$/, "");
  return `${parsed.origin}${path === "" ? "/v1" : path}`;
}

/** Why the server at `baseUrl` did not answer, and what to do about it. */
export function toNodeError(
  { kind, status = 0, headers, serverMessage, cause }: ApiError,
  { baseUrl, hasKey }: { baseUrl: string; hasKey: boolean },
): NodeError {
  if (kind === "unreachable") {
    return new NodeError(
      "unavailable",
      `Nothing answers at ${baseUrl} (${connectionReason(cause) ?? reasonOf(cause)}). Check the address, and that the server runs.`,
      { cause },
    );
  }
  const location = headers?.get("location") ?? null;
  if (status >= 300 && status < 400 && location !== null) {
    return new NodeError("unavailable", `${baseUrl} has moved; give its new address: ${location}`);
  }
  const said = serverMessage === undefined ? "" : ` ${serverMessage}`;
  if (status === 401) {
    const advice = hasKey
      ? "PADDOCK_KEY holds another."
      : "Set the environment variable PADDOCK_KEY to one.";
    return new NodeError("unauthenticated", `The server wants a key (401).${said} ${advice}`);
  }
  // FastAPI, which vLLM and others are built on, answers so.
  if (status === 404 && (said === "" || serverMessage === "Not Found")) {
    return new NodeError(
      "not_found",
      `${baseUrl} knows no such path (404). Check the address; most end in /v1.`,
    );
  }
  return new NodeError("unavailable", `The server refused (${status}).${said}`);
}

export interface FoundPassage {
  source: string;
  score: number;
  /** Document and heading, if the server reports them. */
  place: string;
}

/** A Paddock node, or any other server of the OpenAI API. */
export class ChatServer {
  readonly #baseUrl: string;
  readonly #hasKey: boolean;
  readonly #client: ApiClient;

  constructor({ url, key }: { url: string; key?: string | undefined }) {
    this.#baseUrl = baseUrlOf(url);
    this.#hasKey = key !== undefined;
    this.#client = new ApiClient({
      baseUrl: this.#baseUrl,
      key: () => key,
      // A key is sent to the named server only.
      redirect: "manual",
    });
  }

  /** The chat models of a node; all models of another server, which does not report types. */
  async chatModels(signal: AbortSignal): Promise<string[]> {
    const data = await this.#list(this.#client.models({ signal }), "data", "/models");
    const types = await this.#modelTypes(signal);
    const names = data.flatMap((model) => textAt(model, "id") ?? []);
    return types === undefined
      ? names
      : names.filter((name) => (types.get(name) ?? "chat") === "chat");
  }

  /** Of a node; another server reports less. */
  async models(signal: AbortSignal): Promise<ModelList> {
    return await this.#asked(this.#client.models({ signal }));
  }

  async *answer(request: ChatRequest, signal: AbortSignal): AsyncGenerator<AnswerPiece> {
    const response = await this.#asked(this.#client.requestChatStream(request, { signal }));
    const type = response.headers.get("content-type") ?? "";
    if (type.includes("json")) yield* wholeAnswer(await response.json());
    else yield* answerPieces(response.body, signal);
  }

  async retrieve(question: string, signal: AbortSignal): Promise<FoundPassage[]> {
    const types = (await this.#modelTypes(signal)) ?? [];
    const models = [...types].filter(([, type]) => type === "embedding");
    let refusal = new NodeError(
      "unavailable",
      `The server at ${this.#baseUrl} does not retrieve: it is no node of Paddock, or has no embedding model.`,
    );
    // The node does not report which model embedded its collection.
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
    const request = {
      model,
      messages: [{ role: "user" as const, content: question }],
      include_metadata: true,
    };
    const result = this.#client.retrieve(request, { signal });
    return (await this.#list(result, "points", "/retrieve")).map((point) => {
      const metadata = objectAt(point, "metadata");
      const place = [textAt(metadata, "document"), textAt(metadata, "heading")];
      return {
        source: textAt(point, "source") ?? "",
        score: numberAt(point, "score") ?? 0,
        place: place.filter(Boolean).join(": "),
      };
    });
  }

  /** Model types by name; undefined if the server is not a Paddock node. */
  async #modelTypes(signal: AbortSignal): Promise<Map<string, string> | undefined> {
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(infoTimeoutMs)]);
      const { models } = await this.#client.info({ signal: limited });
      return new Map(models.map(({ name, type }) => [name, type]));
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  async #list(asked: Promise<unknown>, field: string, path: string): Promise<readonly unknown[]> {
    const answer = await this.#asked(asked.catch(withoutJson));
    if (isObject(answer) && Array.isArray(answer[field])) return answer[field];
    throw new NodeError(
      "unavailable",
      `What ${this.#baseUrl}${path} answers is not of the OpenAI API. Check the address; most end in /v1.`,
    );
  }

  async #asked<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw toNodeError(error, { baseUrl: this.#baseUrl, hasKey: this.#hasKey });
    }
  }
}

/** Only a node has `/v1/info`; another server may leave the request open. */
const infoTimeoutMs = 5000;

function withoutJson(error: unknown): undefined {
  if (error instanceof ApiError && error.kind === "not_json") return undefined;
  throw error;
}

export interface AnswerPiece {
  /** `thought`: what a reasoning model writes before it answers. */
  type: "text" | "thought";
  text: string;
}

/** The pieces of a streamed answer; throws if it ends before it is finished. */
export async function* answerPieces(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal,
): AsyncGenerator<AnswerPiece> {
  let isFinished = false;
  try {
    for await (const sent of readChunks(body, signal)) {
      // Some servers also send chunks of their own.
      for (const choice of listAt(sent, "choices")) {
        yield* piecesOf(objectAt(choice, "delta"));
        isFinished ||= textAt(choice, "finish_reason") !== undefined;
      }
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Some servers send no [DONE].
    if (error.kind === "stream_interrupted" && isFinished) return;
    throw failed(streamFailure(error));
  }
}

function* wholeAnswer(body: unknown): Generator<AnswerPiece> {
  const messages = listAt(body, "choices").map((choice) => objectAt(choice, "message"));
  const isText = (content: unknown): boolean => typeof (content ?? "") === "string";
  if (messages.length === 0 || messages.some((message) => !(message && isText(message.content)))) {
    throw failed("the server sent something else");
  }
  for (const message of messages) yield* piecesOf(message);
}

function* piecesOf(delta: unknown): Generator<AnswerPiece> {
  // Some servers send `reasoning` instead of `reasoning_content`.
  const thought = textAt(delta, "reasoning_content") ?? textAt(delta, "reasoning");
  const content = textAt(delta, "content");
  if (thought) yield { type: "thought", text: thought };
  if (content) yield { type: "text", text: content };
}

/** Follows a colon, so that only the server's own words begin with a capital letter. */
function streamFailure({ kind, message }: ApiError): string {
  if (kind === "stream_interrupted") return "it ended before it was finished";
  return kind === "stream_error"
    ? message
    : `${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

const failed = (reason: string): NodeError =>
  new NodeError("unavailable", `The answer failed: ${reason.replace(/\.$/, "")}.`);

interface FoundNode {
  address: string;
  server: ChatServer;
}

/** The node that runs with a command's data dir; undefined if none does. */
export async function findRunningNode(
  shell: Shell,
  config: Config,
): Promise<FoundNode | undefined> {
  const { here } = await findNodes(dataDirOf(config, shell.cwd), shell.processes);
  const [first] = here;
  return first && serverAt(shell, first.address);
}

export const serverAt = ({ env }: Pick<Shell, "env">, address: string): FoundNode => ({
  address,
  server: new ChatServer({ url: address, key: env.PADDOCK_KEY || undefined }),
});

export const noNode = (dataDir: string): CommandError =>
  new CommandError(
    `No node runs with the data dir ${dataDir}. Start one with 'paddock serve', or name the data dir of the one that runs: --data-dir.`,
  );
