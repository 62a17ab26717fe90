/** Stored responses in a SQLite file of the data dir, which a thread of its own reads and writes. */
import { asNodeError, NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import {
  type ResponseChange,
  type ResponseFailure,
  type ResponseStatus,
  type ResponseStore,
  responseStatuses,
  type SavedResponse,
  type TidiedResponses,
} from "../../core/ports/response-store.ts";
import { isThere } from "../database.ts";
import { MethodThread } from "../thread-calls.ts";
import type {
  FormerOwners,
  ResponseRow,
  ResponseRows,
  RowBounds,
  RowChange,
} from "./response-rows.ts";

/** Its name in the data dir. */
export const responsesFile = "responses.sqlite";

export interface SqliteResponsesOptions {
  path: string;
  /** How long after it was made a response is stored; this holds for existing ones too. */
  keepForMs: number;
  /** Bytes of all together; the oldest of the caller who stores most go first. */
  maxBytes: number;
  /** Bytes of one. */
  maxResponseBytes: number;
  /** Milliseconds of Unix time. */
  now: () => number;
  /** Owners by the ids that an older version knew them by. */
  formerOwners?: FormerOwners;
}

type RowMethods = Omit<ResponseRows, typeof Symbol.dispose>;

/** In the executable all modules are one file, and this path begins at the folder of main.ts. */
const thread = import.meta.url.endsWith("/sqlite-responses.ts")
  ? "./responses-thread.ts"
  : "./store/responses/responses-thread.ts";

export class SqliteResponses implements ResponseStore, AsyncDisposable {
  readonly #options: SqliteResponsesOptions;
  readonly #thread: MethodThread;

  /** Neither a file nor a thread is made before one is needed. */
  constructor(options: SqliteResponsesOptions) {
    this.#options = options;
    this.#thread = new MethodThread({
      module: new URL(thread, import.meta.url),
      data: { path: options.path, formerOwners: options.formerOwners ?? {} },
      called: "stored responses",
    });
  }

  async save(response: SavedResponse): Promise<void> {
    const row = toRow(this.#checked(response));
    this.#checkSize(row);
    await this.#call("save", row, this.#bounds());
  }

  async change(id: string, change: ResponseChange): Promise<boolean> {
    const texts = toRowChange(this.#checked(change));
    this.#checkSize(texts);
    return this.#isThere && (await this.#call("change", id, texts, this.#bounds()));
  }

  async find(id: string, owner: string | undefined): Promise<SavedResponse | undefined> {
    if (!this.#isThere) return undefined;
    const row = await this.#call("find", id, owner ?? null, this.#bounds());
    return row && toResponse(row);
  }

  async delete(id: string, owner: string | undefined): Promise<boolean> {
    return this.#isThere && (await this.#call("delete", id, owner ?? null, this.#bounds()));
  }

  async hasUnfinished(): Promise<boolean> {
    return this.#isThere && (await this.#call("countUnfinished")) > 0;
  }

  async failUnfinished(failure: ResponseFailure): Promise<number> {
    return this.#isThere ? await this.#call("failUnfinished", JSON.stringify(failure)) : 0;
  }

  async tidy(): Promise<TidiedResponses> {
    if (!this.#isThere) return { expired: 0, displaced: 0, isDone: true };
    return await this.#call("tidy", this.#bounds());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
  }

  /** Whether there is a file, and so something to ask the thread. */
  get #isThere(): boolean {
    return this.#thread.hasStarted || isThere(this.#options.path);
  }

  async #call<Method extends keyof RowMethods>(
    method: Method,
    ...args: Parameters<RowMethods[Method]>
  ): Promise<ReturnType<RowMethods[Method]>> {
    try {
      return await this.#thread.call({ method, args });
    } catch (cause) {
      throw asNodeError(cause);
    }
  }

  #bounds(): RowBounds {
    const { keepForMs, maxBytes, now } = this.#options;
    return { before: now() - keepForMs, maxBytes };
  }

  #checkSize({ body = "", conversation = "", input = "" }: Partial<ResponseRow>): void {
    const bytes = [body, conversation, input].reduce(
      (sum, text) => sum + Buffer.byteLength(text),
      0,
    );
    if (bytes > this.#most) throw tooLarge(String(bytes), this.#most);
  }

  /** What is far too large is never written as text: that alone would hold up everyone. */
  #checked<Parts extends ResponseChange & Pick<Partial<SavedResponse>, "input">>(
    parts: Parts,
  ): Parts {
    const { body, conversation, input } = parts;
    if (isLargerThan(this.#most, [body, conversation, input])) {
      throw tooLarge(`more than ${this.#most}`, this.#most);
    }
    return parts;
  }

  get #most(): number {
    return Math.min(this.#options.maxResponseBytes, this.#options.maxBytes);
  }
}

const toRow = (response: SavedResponse): ResponseRow => ({
  id: response.id,
  owner: response.owner ?? null,
  created_at: response.createdAt,
  status: response.status,
  failure: response.failure === undefined ? null : JSON.stringify(response.failure),
  background: Number(response.isBackground),
  body: JSON.stringify(response.body),
  input: JSON.stringify(response.input),
  conversation: JSON.stringify(response.conversation),
});

const toRowChange = ({ status, failure, body, conversation }: ResponseChange): RowChange =>
  given({
    status,
    failure: failure && JSON.stringify(failure),
    body: body && JSON.stringify(body),
    conversation: conversation && JSON.stringify(conversation),
  });

/** What is JSON is parsed when it is asked for: it may be megabytes, and most is asked for one part. */
const toResponse = (row: ResponseRow): SavedResponse => ({
  id: row.id,
  owner: row.owner ?? undefined,
  createdAt: row.created_at,
  status: statusOf(row.status),
  ...given({ failure: row.failure === null ? undefined : JSON.parse(row.failure) }),
  isBackground: row.background === 1,
  get body() {
    return JSON.parse(row.body);
  },
  get input() {
    return JSON.parse(row.input);
  },
  get conversation() {
    return JSON.parse(row.conversation);
  },
});

const statusOf = (text: string): ResponseStatus =>
  responseStatuses.find((status) => status === text) ?? "failed";

/** Whether all together are too large as JSON. Counts no more than the text would have at least, and no further than to the bound. */
function isLargerThan(most: number, values: readonly unknown[]): boolean {
  let left = most;
  const take = (part: unknown): void => {
    if (left < 0) return;
    if (typeof part === "string") left -= part.length + 2;
    else if (typeof part !== "object" || part === null) left -= part === undefined ? 0 : 1;
    else if (Array.isArray(part)) {
      left -= 1 + part.length;
      for (const item of part) {
        if (left < 0) return;
        take(item);
      }
    } else {
      for (const [name, content] of Object.entries(part)) {
        if (left < 0) return;
        if (content === undefined) continue;
        left -= name.length + 3;
        take(content);
      }
    }
  };
  for (const value of values) take(value);
  return left < 0;
}

const tooLarge = (bytes: string, most: number): NodeError =>
  new NodeError(
    "payload_too_large",
    `The response has ${bytes} bytes with its conversation, and at most ${most} are stored. Send a shorter conversation, send 'store': false, or raise responses.max_response_bytes.`,
    { param: "store" },
  );
