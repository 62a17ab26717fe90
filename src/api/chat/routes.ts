/** POST /v1/chat/completions */
import { Elysia } from "elysia";
import type { ChatService } from "../../core/chat.ts";
import type { Log } from "../../core/log.ts";
import type { Access } from "../../http/auth.ts";
import { deadline } from "../../http/deadline.ts";
import { errorResponse, toNodeError } from "../../http/errors.ts";
import { clientGone, exchangeOf } from "../../http/exchange.ts";
import { announceIgnored } from "../../http/ignored-fields.ts";
import { bodyReader } from "../../http/json-body.ts";
import { modelErrors, operation, tags } from "../../http/operation.ts";
import { requestIdHeader } from "../../http/request-id.ts";
import { eventStream } from "../../http/sse.ts";
import { newCompletionHead, toChatCompletion, toChunks } from "./completion.ts";
import { chatExamples } from "./examples.ts";
import { ignoredFields } from "./fields.ts";
import { ChatCompletionRequest } from "./schema.ts";
import { toChatRequest } from "./wire.ts";

export interface ChatRoutesServices {
  chat: ChatService;
  access: Access;
  log: Log;
  limits: { maxBodyBytes: number; requestTimeoutMs: number };
  /** Aborts when the node stops, with an error for whoever is being answered. */
  stopping: AbortSignal;
}

export function chatRoutes({ chat, access, log, limits, stopping }: ChatRoutesServices) {
  const readBody = bodyReader(ChatCompletionRequest, limits.maxBodyBytes);
  return new Elysia({ prefix: "/v1" }).post(
    "/chat/completions",
    async ({ request, set }) => {
      access.check(request, "chat");
      const body = await readBody(request);
      const exchange = exchangeOf(request);
      exchange.model = body.model;
      // Who asks for passages must be one who may.
      const wantsPassages = body.rag !== undefined && body.rag !== null && body.rag !== false;
      const caller = access.check(
        request,
        "chat",
        ...(wantsPassages ? (["retrieve"] as const) : []),
      );
      announceIgnored(ignoredFields(body), set.headers, log);
      const gone = new AbortController();
      const asked = toChatRequest(body);
      chat.check(asked);
      const time = deadline(limits.requestTimeoutMs);
      const signal = AbortSignal.any([request.signal, gone.signal, time.signal, stopping]);
      const head = newCompletionHead();
      const { report } = exchange;
      const answer = await chat
        .answer(asked, { signal, caller, report })
        .catch((error: unknown) => {
          time.clear();
          throw error;
        });
      if (body.stream !== true) return await toChatCompletion(head, answer).finally(time.clear);
      const includeUsage = body.stream_options?.include_usage ?? false;
      const stream = await eventStream(toChunks(head, answer, includeUsage), {
        onCancel: (reason) => {
          exchange.broke(clientGone);
          gone.abort(reason);
        },
        onError: (error) => {
          exchange.broke(errorResponse(toNodeError(error)).status);
          log.error("a stream broke off", { id: set.headers[requestIdHeader], error });
        },
        onEnd: () => {
          time.clear();
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
