/** Has the chat service answer what a response is asked with. */
import type { ChatRequest } from "../../../core/chat/chat-service.ts";
import type { Grounding } from "../../../core/chat/grounding.ts";
import { truncateConversation } from "../../../core/chat/truncate-conversation.ts";
import type { StoreSearchService } from "../../../core/documents/store-search.ts";
import type { ModelRegistry } from "../../../core/models/model-registry.ts";
import type { ChatMessage } from "../../../core/ports/chat-engine.ts";
import type { RequestContext } from "../../request-context.ts";
import { beginAnswer, type ChatNeeds } from "../../wire/begin-answer.ts";
import { served } from "../../wire/response-include.ts";
import { renameFields } from "./field-names.ts";
import { annotationsOf, type FileSearchAsked, toFileSearchCall } from "./file-search.ts";
import { itemId } from "./ids.ts";
import { answeredBy, begunResponse, type ResponseFacts } from "./response-body.ts";
import { ResponseRun } from "./response-run.ts";
import type { ResponseObject } from "./schema.ts";
import { withInstructions } from "./to-chat-request.ts";
import type { OfferedTools } from "./tool-use.ts";

export interface MakingNeeds extends ChatNeeds {
  models: ModelRegistry;
  storeSearch: StoreSearchService;
}

export interface AskedResponse {
  facts: ResponseFacts;
  /** The conversation, without what the model is told before it. */
  messages: readonly ChatMessage[];
  /** What the chat service is asked with besides. */
  request: Omit<ChatRequest, "messages">;
  offered: OfferedTools;
  /** Called when the response is whole, with the conversation that it was made of; returns what is answered. */
  settle: (response: ResponseObject, messages: readonly ChatMessage[]) => Promise<ResponseObject>;
}

/** Errors name this API's fields. */
export async function makeResponse(
  { facts, messages, request, offered, settle }: AskedResponse,
  context: RequestContext,
  needs: MakingNeeds,
): Promise<ResponseRun> {
  const { id, body } = facts;
  const rename = (error: unknown): unknown => renameFields(error, offered);
  try {
    const told = withInstructions(body.instructions, messages);
    const { kept, dropped } = await fitted(told);
    const answer = await beginAnswer({ ...request, messages: kept }, context, needs);
    const { grounding } = answer;
    const begun = {
      ...begunResponse(facts, "in_progress"),
      ...(dropped === 0 ? {} : { truncated_messages: dropped }),
      ...answeredBy(answer),
    };
    return new ResponseRun(begun, answer, {
      itemId: (kind, index) => itemId(id, kind, index),
      wireName: (name) =>
        offered.functions.find(({ tool }) => tool.name === name)?.wire ?? { name },
      withLogprobs: body.include?.includes(served.logprobs) ?? false,
      annotate: (text) => (grounding === undefined ? [] : annotationsOf(text, grounding)),
      search:
        grounding && offered.search && toFileSearchCall(grounding, await searchAsked(grounding)),
      rename,
      settle: (response) => settle(response, kept.slice(told.length - messages.length)),
    });
  } catch (error) {
    throw rename(error);
  }

  async function searchAsked({ points, carried }: Grounding): Promise<FileSearchAsked> {
    return {
      question: messages.findLast(({ role }) => role === "user")?.content ?? "",
      includesResults: body.include?.includes(served.searchResults) ?? false,
      // Those of earlier turns were found by earlier calls.
      found: await needs.storeSearch.withAttributes(points.slice(carried)),
    };
  }

  async function fitted(told: readonly ChatMessage[]) {
    if (body.truncation !== "auto") return { kept: told, dropped: 0 };
    const conversation = {
      messages: told,
      tools: offered.toolUse?.tools ?? [],
      maxTokens: body.max_output_tokens ?? undefined,
    };
    const { engine } = needs.models.chat(body.model);
    return await truncateConversation(conversation, engine, context.signal);
  }
}
