/** Handles POST /v1/responses: complete, streamed or in the background. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import { truncateConversation } from "../../../core/chat/context-room.ts";
import type { Grounding } from "../../../core/chat/rag.ts";
import type { StoreSearchService } from "../../../core/documents/store-search.ts";
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { AnswerFormat, ChatMessage } from "../../../core/ports/chat-engine.ts";
import type { SavedResponse } from "../../../core/ports/response-store.ts";
import type { ConversationService } from "../../../core/responses/conversation-service.ts";
import type { ResponseService } from "../../../core/responses/response-service.ts";
import type { Answer, Handler } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import { namedEvents } from "../../sse.ts";
import { beginAnswer, type ChatNeeds, toRetrievalReport } from "../../wire/answer.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import { named } from "../../wire/field-names.ts";
import { refuse, secondsNow, withoutNulls } from "../../wire/fields.ts";
import { toGenerationSettings, toSampling } from "../../wire/generation-fields.ts";
import { toRag } from "../../wire/grounding.ts";
import {
  type AskedConversation,
  askedConversation,
  conversationOf,
  withAnswer,
} from "./conversation.ts";
import {
  annotationsOf,
  type FileSearchAsked,
  toRag as searchToRag,
  toFileSearchCall,
} from "./file-search.ts";
import { itemId, newResponseId } from "./items.ts";
import { ResponseRun } from "./output.ts";
import type { ResponseRequest } from "./request-schema.ts";
import { type ResponseObject, served } from "./schema.ts";
import { type OfferedTools, responseNames, toOfferedTools } from "./tools.ts";

export interface ResponseNeeds extends MakingNeeds {
  responses: ResponseService;
  conversations: ConversationService;
  limits: { maxMessages: number; maxBodyBytes: number };
}

export const createResponse: Handler<ResponseRequest, ResponseNeeds> = async (
  { body },
  context,
  needs,
): Promise<Answer> => {
  const { responses, conversations, models } = needs;
  // Invalid requests are rejected here, even if the response is made in the background.
  checkedPairs(body.metadata ?? {}, "metadata");
  checkBackground(body);
  models.chat(body.model);
  const id = newResponseId();
  const offered = toOfferedTools(body);
  context.fieldNames = responseNames(offered);
  const request = toChatRequest(body, offered);
  const isStored = responses.isKeeping && body.store !== false;
  const facts = { id, createdAt: secondsNow(), body, isStored };
  const conversation = await readConversation(body, id, context, needs);
  const { messages } = conversation;
  const joined = async (response: ResponseObject): Promise<void> => {
    const id = conversationOf(body);
    if (id === undefined) return;
    const items = [...conversation.items, ...response.output];
    await conversations.add(id, context.authenticated, items);
  };
  const parts = { facts, conversation, owner: context.authenticated.id };
  const asked: Omit<AskedResponse, "settle"> = { facts, messages, request, offered };
  if (body.background === true) return await inBackground();
  const run = await makeResponse(
    {
      ...asked,
      settle: async (response, said) => {
        await joined(response);
        if (!isStored) return response;
        const whole = toSaved(parts, response, withAnswer(said, response.output));
        return (await responses.keep(whole)) ? response : { ...response, store: false };
      },
    },
    context,
    needs,
  );
  if (body.stream !== true) return { json: await run.whole() };
  return { events: run.streamed(), format: namedEvents((error) => run.failed(error)) };

  async function inBackground(): Promise<Answer> {
    const queued = begunResponse(facts, "queued");
    const { ended } = await responses.start({
      response: toSaved(parts, queued, messages),
      caller: context.lease.caller,
      work: async (signal) => {
        context.signal = signal;
        try {
          let said = messages;
          const settle: AskedResponse["settle"] = async (response, left) => {
            said = left;
            await joined(response);
            return response;
          };
          const body = await (await makeResponse({ ...asked, settle }, context, needs)).whole();
          return { status: body.status, body, conversation: withAnswer(said, body.output) };
        } catch (error) {
          throw error instanceof NodeError ? named(error, context.fieldNames) : error;
        }
      },
    });
    return { json: queued, background: ended };
  }
};

export function readConversation(
  body: ResponseRequest,
  id: string,
  { signal, authenticated }: RequestContext,
  { responses, conversations, limits }: ResponseNeeds,
): Promise<AskedConversation> {
  const { maxMessages, maxBodyBytes } = limits;
  return askedConversation(body, {
    ...{ id, maxMessages, maxBodyBytes, signal },
    find: (other) => responses.find(other, authenticated),
    itemsOf: async (conversation) =>
      (await conversations.get(conversation, authenticated, "conversation")).items,
  });
}

interface SavedParts {
  facts: ResponseFacts;
  conversation: AskedConversation;
  owner: string | undefined;
}

function toSaved(
  { facts, conversation, owner }: SavedParts,
  body: ResponseObject,
  said: readonly ChatMessage[],
): SavedResponse {
  return {
    id: facts.id,
    owner,
    createdAt: facts.createdAt * 1000,
    status: body.status,
    isBackground: body.background,
    body,
    input: conversation.items,
    conversation: said,
  };
}

function checkBackground({ background, stream, store }: ResponseRequest): void {
  if (background !== true) return;
  if (stream === true) {
    throw refuse(
      "stream",
      "cannot be used with 'background'; ask GET /v1/responses/{id} until the response is made",
    );
  }
  if (store === false) throw refuse("store", "must not be false where 'background' is true");
}

interface ResponseFacts {
  id: string;
  /** Unix time in seconds. */
  createdAt: number;
  body: ResponseRequest;
  isStored: boolean;
}

/** The response object before there is any output. */
export function begunResponse(
  facts: ResponseFacts,
  status: "queued" | "in_progress",
): ResponseObject {
  const { id, createdAt, body, isStored } = facts;
  const conversation = conversationOf(body);
  return {
    id,
    object: "response",
    created_at: createdAt,
    completed_at: null,
    status,
    error: null,
    incomplete_details: null,
    model: body.model,
    instructions: body.instructions ?? null,
    output: [],
    usage: null,
    previous_response_id: body.previous_response_id ?? null,
    ...(conversation === undefined ? {} : { conversation: { id: conversation } }),
    background: body.background ?? false,
    store: isStored,
    metadata: body.metadata ?? {},
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    top_logprobs: body.top_logprobs ?? 0,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    text: { format: body.text?.format ?? { type: "text" } },
    reasoning: { effort: null, summary: null },
    truncation: body.truncation ?? "disabled",
    service_tier: "default",
  };
}

interface MakingNeeds extends ChatNeeds {
  models: ModelRegistry;
  storeSearch: StoreSearchService;
}

interface AskedResponse {
  facts: ResponseFacts;
  /** The conversation, without instructions. */
  messages: readonly ChatMessage[];
  request: Omit<ChatRequest, "messages">;
  offered: OfferedTools;
  /** Called with the complete response and its conversation; returns the response to send. */
  settle: (response: ResponseObject, messages: readonly ChatMessage[]) => Promise<ResponseObject>;
}

async function makeResponse(
  { facts, messages, request, offered, settle }: AskedResponse,
  context: RequestContext,
  needs: MakingNeeds,
): Promise<ResponseRun> {
  const { id, body } = facts;
  const told = withInstructions(body.instructions, messages);
  const { left, dropped } = await fitted(told);
  const answer = await beginAnswer({ ...request, messages: left }, context, needs);
  const { grounding } = answer;
  const begun = {
    ...begunResponse(facts, "in_progress"),
    ...(dropped === 0 ? {} : { truncated_messages: dropped }),
    model: answer.model,
    system_fingerprint: answer.fingerprint,
    ...given({ retrieval: grounding && toRetrievalReport(grounding) }),
  };
  return new ResponseRun(begun, answer, {
    itemId: (kind, index) => itemId(id, kind, index),
    wireName: (name) => offered.functions.find(({ tool }) => tool.name === name)?.wire ?? { name },
    withLogprobs: body.include?.includes(served.logprobs) ?? false,
    annotate: (text) => (grounding === undefined ? [] : annotationsOf(text, grounding)),
    search:
      grounding && offered.search && toFileSearchCall(grounding, await searchAsked(grounding)),
    settle: (response) => settle(response, left.slice(told.length - messages.length)),
  });

  async function searchAsked({ points, carried }: Grounding): Promise<FileSearchAsked> {
    return {
      question: messages.findLast(({ role }) => role === "user")?.content ?? "",
      includesResults: body.include?.includes(served.searchResults) ?? false,
      // Passages of earlier turns were found by earlier calls.
      found: await needs.storeSearch.withAttributes(points.slice(carried)),
    };
  }

  async function fitted(told: readonly ChatMessage[]) {
    if (body.truncation !== "auto") return { left: told, dropped: 0 };
    const conversation = {
      messages: told,
      tools: offered.toolUse?.tools ?? [],
      maxTokens: body.max_output_tokens ?? undefined,
    };
    const { engine } = needs.models.chat(body.model);
    return await truncateConversation(conversation, engine, context.signal);
  }
}

function toChatRequest(
  body: ResponseRequest,
  { toolUse, search }: OfferedTools,
): Omit<ChatRequest, "messages"> {
  if (search !== undefined && body.rag !== null && body.rag !== undefined) {
    throw refuse(
      "rag",
      "cannot be used with the tool 'file_search', which grounds the answer itself",
    );
  }
  return {
    model: body.model,
    sampling: toSampling(body),
    ...toGenerationSettings(body),
    ...withoutNulls({
      maxTokens: body.max_output_tokens,
      topLogprobs: toTopLogprobs(body),
      format: body.text?.format && toFormat(body.text.format),
      toolUse,
      rag:
        search === undefined ? toRag(body.rag) : searchToRag(search.tool, `tools[${search.place}]`),
    }),
  };
}

export const withInstructions = (
  instructions: string | null | undefined,
  conversation: readonly ChatMessage[],
): readonly ChatMessage[] =>
  instructions === null || instructions === undefined
    ? conversation
    : [{ role: "system", content: instructions }, ...conversation];

function toTopLogprobs({ include, top_logprobs: top }: ResponseRequest): number | undefined {
  if (include?.includes(served.logprobs) === true) return top ?? 0;
  if (top === null || top === undefined || top === 0) return undefined;
  throw refuse("top_logprobs", `needs '${served.logprobs}' in 'include'`);
}

type Format = NonNullable<NonNullable<ResponseRequest["text"]>["format"]>;

function toFormat(format: Format): AnswerFormat {
  if (format.type === "text") return "text";
  if (format.type === "json_object") return "json";
  return { schema: format.schema };
}
