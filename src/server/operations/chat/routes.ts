/** POST /v1/chat/completions */
import { Elysia } from "elysia";
import type { ChatService } from "../../../core/chat/chat-service.ts";
import type { Log } from "../../../core/log.ts";
import { errorResponse, toNodeError } from "../../middleware/errors.ts";
import { announceIgnored } from "../../middleware/ignored-fields.ts";
import { type BodyLimits, bodyReader } from "../../middleware/json-body.ts";
import type { PromptLog } from "../../middleware/prompt-log.ts";
import type { Entrance } from "../../middleware/rate-limit.ts";
import { requestIdHeader } from "../../middleware/request-id.ts";
import { requestSignal } from "../../middleware/timeout.ts";
import { modelErrors, operation, tags } from "../../operation.ts";
import { clientGone, clientStalled, exchangeOf } from "../../request-context.ts";
import { eventStream } from "../../sse.ts";
import { newCompletionHead, toChatCompletion, toChunks } from "./completion.ts";
import { chatExamples } from "./examples.ts";
import { ignoredFields } from "./fields.ts";
import { metered } from "./metering.ts";
import { recorded } from "./recording.ts";
import { ChatCompletionRequest } from "./schema.ts";
import { toChatRequest } from "./wire.ts";

export interface ChatRoutesServices {
  chat: ChatService;
  entrance: Entrance;
  log: Log;
  promptLog: PromptLog;
  limits: BodyLimits & {
    maxMessages: number;
    requestTimeoutMs: number;
    /** How long a client may take nothing of a stream. */
    stallTimeoutMs: number;
  };
  /** Aborts when the node stops, with an error for whoever is being answered. */
  stopping: AbortSignal;
}

export function chatRoutes(services: ChatRoutesServices) {
  const { chat, entrance, log, promptLog, limits, stopping } = services;
  const readBody = bodyReader(ChatCompletionRequest, limits, [
    { param: "messages", most: limits.maxMessages, setting: "limits.max_messages" },
  ]);
  return new Elysia({ prefix: "/v1" }).post(
    "/chat/completions",
    async ({ request, set }) => {
      using ending = new DisposableStack();
      const visit = ending.use(entrance.admit(request, set.headers, "chat"));
      const body = await readBody(request);
      const exchange = exchangeOf(request);
      exchange.model = body.model;
      // Who asks for passages must be one who may.
      const wantsPassages = body.rag !== undefined && body.rag !== null && body.rag !== false;
      if (wantsPassages) visit.require("retrieve");
      visit.widen(body.n ?? 1);
      promptLog.asked(set.headers, { model: body.model, messages: body.messages });
      announceIgnored(ignoredFields(body), set.headers, log);
      const gone = new AbortController();
      const asked = toChatRequest(body);
      chat.check(asked);
      const { requestTimeoutMs } = limits;
      const time = requestSignal(request, { requestTimeoutMs, stopping }, gone.signal);
      ending.defer(time.clear);
      const { signal } = time;
      const head = newCompletionHead();
      const begun = await chat.answer(asked, {
        signal,
        caller: visit.caller,
        ...(visit.prefixScope === undefined ? {} : { prefixScope: visit.prefixScope }),
        report: exchange.report,
      });
      const counted = visit.countsTokens
        ? metered(begun, {
            charge: visit.charge,
            owesPrompt: () => exchange.hasStarted && signal.aborted,
          })
        : begun;
      const answer = promptLog.isOn
        ? recorded(counted, (texts) => promptLog.answered(set.headers, { texts }))
        : counted;
      if (body.stream !== true) return await toChatCompletion(head, answer);
      const includeUsage = body.stream_options?.include_usage ?? false;
      // From here on the stream says when the answer ends.
      const end = ending.move();
      const stream = await eventStream(toChunks(head, answer, includeUsage), {
        signal,
        onCancel: (reason) => {
          exchange.broke(clientGone);
          gone.abort(reason);
        },
        stallMs: limits.stallTimeoutMs,
        onStall: (error) => {
          exchange.broke(clientStalled);
          gone.abort(error);
          log.warn("a client did not read its answer, which was ended", {
            id: set.headers[requestIdHeader],
          });
        },
        onError: (error) => {
          if (request.signal.aborted) {
            exchange.broke(clientGone);
            return;
          }
          exchange.broke(errorResponse(toNodeError(error)).status);
          log.error("a stream broke off", { id: set.headers[requestIdHeader], error });
        },
        onEnd: () => {
          end.dispose();
          exchange.streamEnded();
        },
      });
      return exchange.streams(stream);
    },
    {
      parse: "none",
      detail: operation({
        operationId: "createChatCompletion",
        summary: "Answer a conversation",
        description:
          "Generates the assistant's next message, as one JSON body or, with `stream`, as server-sent events that end with `data: [DONE]`.",
        tag: tags.chat,
        secured: true,
        body: { schema: "ChatCompletionRequest", example: chatExamples.request },
        answer: {
          schema: "ChatCompletion",
          description: "The answer.",
          example: chatExamples.completion,
        },
        stream: {
          schema: "ChatCompletionChunk",
          description: "One line `data: <chunk>` for each of these, then the line `data: [DONE]`.",
          example: chatExamples.chunk,
        },
        errors: { ...modelErrors, 504: "The answer took longer than the node allows." },
      }),
    },
  );
}
