/** Handles POST /v1/responses: complete, streamed or in the background. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import { truncateConversation } from "../../../core/chat/context-room.ts";
import { hasImages } from "../../../core/chat/images.ts";
import type { StoreSearchService } from "../../../core/documents/store-search.ts";
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { ChatMessage } from "../../../core/ports/chat-engine.ts";
import type { SavedResponse } from "../../../core/ports/response-store.ts";
import type { ConversationService } from "../../../core/responses/conversation-service.ts";
import type { ResponseService } from "../../../core/responses/response-service.ts";
import { namedEvents } from "../../event-format.ts";
import type { Answer, Handler } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import {
  beginAnswer,
  type ChatNeeds,
  held,
  streamed,
  toRetrievalReport,
} from "../../wire/answer.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import { named } from "../../wire/field-names.ts";
import { secondsNow } from "../../wire/fields.ts";
import { anyImages, imagesFor } from "../../wire/images.ts";
import {
  type AskedConversation,
  askedConversation,
  conversationOf,
  withAnswer,
} from "./conversation.ts";
import { citationsFor, toFileSearchCall } from "./file-search.ts";
import { itemId, newResponseId } from "./items.ts";
import { failedEvents, ResponseRun } from "./output.ts";
import { checkBackground, toChatRequest, withInstructions } from "./request.ts";
import type { ResponseRequest } from "./request-schema.ts";
import { type Includable, type ResponseObject, served } from "./schema.ts";
import { type OfferedTools, responseNames, toOfferedTools } from "./tools.ts";

export interface ResponseNeeds extends ChatNeeds {
  models: ModelRegistry;
  storeSearch: StoreSearchService;
  responses: ResponseService;
  conversations: ConversationService;
  limits: { maxMessages: number; maxBodyBytes: number; maxImageBytes: number };
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
  const { messages, items } = await readConversation(body, id, context, needs);

  const toSaved = (response: ResponseObject, said: readonly ChatMessage[]): SavedResponse => ({
    id,
    owner: context.authenticated.id,
    createdAt: facts.createdAt * 1000,
    status: response.status,
    isBackground: response.background,
    body: response,
    input: items,
    conversation: said,
  });

  /** `keep`: called with the complete response; returns whether it is stored. */
  const make = (keep: (saved: SavedResponse) => Promise<boolean>): Promise<ResponseRun> => {
    const settle: AskedResponse["settle"] = async (ended, said) => {
      const continued = conversationOf(body);
      const turn = [...items, ...ended.output];
      const isLost =
        continued !== undefined &&
        !(await conversations.add(continued, context.authenticated, turn));
      const response = isLost ? { ...ended, conversation: null } : ended;
      const wasStored = await keep(toSaved(response, withAnswer(said, response.output)));
      return wasStored ? response : { ...response, store: false };
    };
    return makeResponse({ facts, messages, request, offered, settle }, context, needs);
  };

  if (body.background === true) {
    const queued = begunResponse(facts, "queued");
    const { ended } = await responses.start({
      response: toSaved(queued, messages),
      caller: context.lease.caller,
      work: async (signal) => {
        context.signal = signal;
        try {
          let conversation: readonly ChatMessage[] = messages;
          const run = await make(async (saved) => {
            conversation = saved.conversation;
            return true;
          });
          const response = await run.whole();
          return { status: response.status, body: response, conversation };
        } catch (error) {
          throw error instanceof NodeError ? named(error, context.fieldNames) : error;
        }
      },
    });
    return { json: queued, background: ended };
  }
  const begin = () => make(async (saved) => isStored && (await responses.keep(saved)));
  if (body.stream !== true) return { json: await (await begin()).whole() };
  const begun = begunResponse(facts, "in_progress");
  let fail = (error: NodeError): string => failedEvents(begun, error);
  const events = streamed(begin, (run) => {
    fail = (error) => run.failed(error);
    return run.streamed();
  });
  return { events, format: namedEvents((error) => fail(error)) };
};

/** The conversation, which the model can read. */
export async function readConversation(
  body: ResponseRequest,
  id: string,
  context: RequestContext,
  needs: ResponseNeeds,
): Promise<AskedConversation> {
  const { signal, authenticated } = context;
  const { responses, conversations, limits, models } = needs;
  const { card } = models.chat(body.model);
  const asked = await askedConversation(body, {
    ...{ id, signal, ...limits },
    hold: (bytes) => context.held.add(bytes),
    readImage: imagesFor(body.model, context, needs),
    readStored: anyImages(context, limits),
    find: (other) => responses.find(other, authenticated),
    itemsOf: async (conversation) =>
      (await conversations.get(conversation, authenticated, "conversation")).items,
  });
  if (card.vision !== true && hasImages(asked.messages)) {
    const param = conversationOf(body) === undefined ? "previous_response_id" : "conversation";
    throw models.cannotSee(card.name, `'${param}' has images`, param);
  }
  return asked;
}

interface ResponseFacts {
  id: string;
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

interface AskedResponse {
  facts: ResponseFacts;
  messages: readonly ChatMessage[];
  request: Omit<ChatRequest, "messages">;
  offered: OfferedTools;
  /** Called with the complete response and its conversation; returns the response to send. */
  settle: (response: ResponseObject, messages: readonly ChatMessage[]) => Promise<ResponseObject>;
}

async function makeResponse(
  { facts, messages, request, offered, settle }: AskedResponse,
  context: RequestContext,
  needs: ResponseNeeds,
): Promise<ResponseRun> {
  const { id, body } = facts;
  const includes = (name: Includable): boolean => body.include?.includes(name) ?? false;
  const told = withInstructions(body.instructions, messages);
  const { left, dropped } = await fitted(told);
  const answering = await beginAnswer({ ...request, messages: left }, context, needs);
  // One made in the background goes on when its request has ended; the queue bounds these.
  const answer = body.background === true ? answering : held(answering, context);
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
    withLogprobs: includes(served.logprobs),
    annotate: grounding === undefined ? () => [] : citationsFor(grounding),
    search:
      grounding &&
      offered.search &&
      toFileSearchCall(grounding, {
        question: messages.findLast(({ role }) => role === "user")?.content ?? "",
        includesResults: includes(served.searchResults),
        // Passages of earlier turns were found by earlier calls.
        found: await needs.storeSearch.withAttributes(grounding.points.slice(grounding.carried)),
      }),
    settle: (response) => settle(response, left.slice(told.length - messages.length)),
  });

  async function fitted(told: readonly ChatMessage[]) {
    if (body.truncation !== "auto") return { left: told, dropped: 0 };
    const tools = offered.toolUse?.tools ?? [];
    const maxTokens = body.max_output_tokens ?? undefined;
    const { engine } = needs.models.chat(body.model);
    return await truncateConversation(
      { messages: told, tools, maxTokens },
      engine,
      context.engineCall,
    );
  }
}
