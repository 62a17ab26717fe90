/** Stored responses: a SQLite file in the data dir, read and written by its own thread. */
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import {
  type ResponseChange,
  type ResponseFailure,
  type ResponseStatus,
  type ResponseStore,
  responseStatuses,
  type SavedResponse,
  type TidiedResponses,
} from "../../core/ports/response-store.ts";
import { Places } from "../../core/turns.ts";
import { inThread, type Remote } from "../thread-calls.ts";
import type { ResponseRow, ResponseRows, RowBounds, RowChange } from "./response-rows.ts";
import type { FormerOwners } from "./response-tables.ts";

export const responsesFile = "responses.sqlite";

export interface SqliteResponsesOptions {
  path: string;
  /** How long a response is stored; applies to existing ones too. */
  keepForMs: number;
  /** Most bytes of all together; the oldest of the caller that stores most are deleted first. */
  maxBytes: number;
  maxResponseBytes: number;
  /** Milliseconds of Unix time. */
  now: () => number;
  /** The earliest time that one is stored with, of a clock that is never set back; default: any. */
  madeAt?: () => number;
  formerOwners?: FormerOwners;
  log?: Log;
}

export class SqliteResponses implements ResponseStore, AsyncDisposable {
  readonly #options: SqliteResponsesOptions;
  readonly #rows: Remote<ResponseRows>;
  /** Many large ones of an owner hold up nobody else's. */
  readonly #calls = new Places(1);

  /** Creates no file and no thread until one is needed. */
  constructor(options: SqliteResponsesOptions) {
    this.#options = options;
    const { path, formerOwners = {}, log } = options;
    this.#rows = inThread({
      target: "responses",
      args: [path, formerOwners],
      called: "Stored responses",
      file: { path, writing: new Set(["save", "replace"]) },
      ...given({ log }),
    });
  }

  async save(response: SavedResponse): Promise<void> {
    const row = this.#rowOf(response);
    await this.#inTurn(row.owner, () => this.#rows.save(row, this.#bounds()));
  }

  async replace(response: SavedResponse, before: number): Promise<boolean> {
    const row = this.#rowOf(response);
    return await this.#inTurn(row.owner, () => this.#rows.replace(row, before, this.#bounds()));
  }

  async change(id: string, change: ResponseChange): Promise<boolean> {
    this.#checkParts(change);
    const texts = toRowChange(change);
    this.#checkSize(texts);
    return await this.#rows.change(id, texts, this.#bounds());
  }

  async find(id: string, owner: string | undefined): Promise<SavedResponse | undefined> {
    const find = () => this.#rows.find(id, owner ?? null, this.#bounds());
    const row = await this.#inTurn(owner, find);
    return row && toResponse(row);
  }

  async delete(id: string, owner: string | undefined): Promise<boolean> {
    const remove = () => this.#rows.delete(id, owner ?? null, this.#bounds());
    return await this.#inTurn(owner, remove);
  }

  async check(): Promise<void> {
    await this.#rows.check();
  }

  async hasUnfinished(): Promise<boolean> {
    return (await this.#rows.countUnfinished()) > 0;
  }

  async failUnfinished(failure: ResponseFailure): Promise<number> {
    return await this.#rows.failUnfinished(JSON.stringify(failure));
  }

  async tidy(): Promise<TidiedResponses> {
    return await this.#rows.tidy(this.#bounds());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rows[Symbol.asyncDispose]();
  }

  #inTurn<Result>(owner: string | null | undefined, call: () => Promise<Result>): Promise<Result> {
    return this.#calls.run(owner ?? "", call);
  }

  #rowOf(response: SavedResponse): ResponseRow {
    this.#checkParts(response);
    const row = toRow(response);
    this.#checkSize(row);
    return { ...row, created_at: Math.max(row.created_at, this.#options.madeAt?.() ?? 0) };
  }

  #bounds(): RowBounds {
    const { keepForMs, maxBytes, now } = this.#options;
    return { before: now() - keepForMs, maxBytes };
  }

  #checkSize({ body = "", conversation = "", input = "" }: Partial<ResponseRow>): void {
    const bytes =
      Buffer.byteLength(body) + Buffer.byteLength(conversation) + Buffer.byteLength(input);
    if (bytes > this.#most) throw tooLarge(String(bytes), this.#most);
  }

  /** Before serializing: that alone would block the event loop for a huge response. */
  #checkParts({ body, conversation, input }: Partial<SavedResponse>): void {
    if (isLargerThan(this.#most, [body, conversation, input])) {
      throw tooLarge(`more than ${this.#most}`, this.#most);
    }
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

/** JSON is parsed on access: it may have megabytes, and usually only one part is read. */
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

/** Whether the values are too large as JSON. Counts a lower bound, and stops at the limit. */
function isLargerThan(most: number, values: readonly unknown[]): boolean {
  let left = most;
  const take = (part: unknown): void => {
    if (typeof part === "string") left -= part.length + 2;
    else if (typeof part !== "object" || part === null) left -= part === undefined ? 0 : 1;
    else {
      const isList = Array.isArray(part);
      for (const [name, content] of isList ? part.entries() : Object.entries(part)) {
        if (left < 0) return;
        if (isList) left -= 1;
        else if (content !== undefined) left -= String(name).length + 3;
        take(content);
      }
    }
  };
  values.forEach(take);
  return left < 0;
}

const tooLarge = (bytes: string, most: number): NodeError =>
  new NodeError(
    "payload_too_large",
    `The response has ${bytes} bytes with its conversation, and at most ${most} are stored. Send a shorter conversation, send 'store': false, or raise responses.max_response_bytes.`,
    { param: "store" },
  );
