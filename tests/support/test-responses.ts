/** Kept responses on a real file in a folder, and responses to keep. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { given } from "../../src/core/given.ts";
import type { Log } from "../../src/core/log.ts";
import type { SavedResponse } from "../../src/core/ports/response-store.ts";
import { BackgroundResponses } from "../../src/core/responses/background-responses.ts";
import { ConversationService } from "../../src/core/responses/conversation-service.ts";
import { ResponseService } from "../../src/core/responses/response-service.ts";
import {
  SqliteResponses,
  type SqliteResponsesOptions,
} from "../../src/store/responses/sqlite-responses.ts";
import { silentLog } from "./silence.ts";

export interface TestResponseOptions extends Partial<SqliteResponsesOptions> {
  maxRunning?: number;
  maxQueue?: number;
  timeoutMs?: number;
  patienceMs?: number;
  log?: Log;
}

export interface TestResponses {
  responses: ResponseService;
  conversations: ConversationService;
  store: SqliteResponses;
  background: BackgroundResponses;
}

/** The file comes into being with the first response. */
export function testResponses(options: TestResponseOptions = {}): TestResponses {
  const { maxRunning = 2, maxQueue = 4, timeoutMs = 0, log = silentLog, ...others } = options;
  const { patienceMs, ...rest } = others;
  const store = responseStore(rest);
  const background = new BackgroundResponses({
    ...{ store, maxRunning, maxQueue, log },
    ownership: { take: () => true, check: () => {} },
    timeoutMs: () => timeoutMs,
  });
  const isKeeping = options.keepForMs !== 0;
  return {
    responses: new ResponseService({
      ...{ store, background, isKeeping, log },
      ...given({ patienceMs }),
    }),
    conversations: new ConversationService({ store, isKeeping, log }),
    store,
    background,
  };
}

export const responseStore = (options: Partial<SqliteResponsesOptions> = {}): SqliteResponses =>
  new SqliteResponses({
    path: join(tmpdir(), `paddock-test-${crypto.randomUUID()}`, "responses.sqlite"),
    keepForMs: 60_000,
    maxBytes: 1 << 20,
    maxResponseBytes: 1 << 18,
    now: Date.now,
    ...options,
  });

const userItem = {
  id: "msg_0",
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "Hi" }],
};

/** A response that is made, of a caller who needs no key. */
export function keptResponse(id: string, more: Partial<SavedResponse> = {}): SavedResponse {
  return {
    id,
    owner: undefined,
    createdAt: Date.now(),
    status: "completed",
    isBackground: false,
    body: {
      id,
      object: "response",
      created_at: 1794700800,
      status: "completed",
      error: null,
      model: "chatty",
      output: [
        {
          id: "msg_1",
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Grüße aus Köln", annotations: [] }],
        },
      ],
    },
    input: [userItem],
    conversation: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Grüße aus Köln" },
    ],
    ...more,
  };
}
