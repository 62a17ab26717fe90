/** A request to its response: whole, as the events of a stream, or in the background. */
import type { ChatMessage } from "../../../core/ports/chat-engine.ts";
import type { KeptResponse } from "../../../core/ports/response-store.ts";
import type { ConversationService } from "../../../core/responses/conversation-service.ts";
import type { ResponseService } from "../../../core/responses/response-service.ts";
import type { Answer, Handler } from "../../operation.ts";
import type { RequestContext } from "../../request-context.ts";
import { namedEvents } from "../../sse.ts";
import { checkedPairs } from "../../wire/attributes.ts";
import { refuse } from "../../wire/refuse.ts";
import { secondsNow } from "../../wire/unix-time.ts";
import {
  type AskedConversation,
  askedConversation,
  conversationOf,
  withAnswer,
} from "./conversation.ts";
import { newResponseId } from "./ids.ts";
import { type AskedResponse, type MakingNeeds, makeResponse } from "./make-response.ts";
import type { ResponseRequest } from "./request-schema.ts";
import { begunResponse, type ResponseFacts } from "./response-body.ts";
import type { ResponseObject } from "./schema.ts";
import { toChatRequest } from "./to-chat-request.ts";
import { toOfferedTools } from "./tool-use.ts";

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
  const { responses, conversations, limits, models } = needs;
  // What can be refused is refused here, also where the response is made in the background.
  checkedPairs(body.metadata ?? {}, "metadata");
  checkBackground(body);
  models.chat(body.model);
  const id = newResponseId();
  const offered = toOfferedTools(body);
  const request = toChatRequest(body, offered);
  const isKept = responses.isKeeping && body.store !== false;
  const facts = { id, createdAt: secondsNow(), body, isKept };
  const conversation = await askedConversation(body, {
    ...{ id, maxMessages: limits.maxMessages, maxBodyBytes: limits.maxBodyBytes },
    signal: context.signal,
    find: (other) => responses.find(other, context.authenticated),
    itemsOf: async (kept) =>
      (await conversations.get(kept, context.authenticated, "conversation")).items,
  });
  const { messages } = conversation;
  const joined = async (response: ResponseObject): Promise<void> => {
    const id = conversationOf(body);
    if (id === undefined) return;
    const items = [...conversation.items, ...response.output];
    await conversations.add(id, context.authenticated, items);
  };
  const kept = { facts, conversation, owner: context.authenticated.id };
  const asked: Omit<AskedResponse, "settle"> = { facts, messages, request, offered };
  if (body.background === true) return await inBackground();
  const run = await makeResponse(
    {
      ...asked,
      settle: async (response, said) => {
        await joined(response);
        if (!isKept) return response;
        const whole = toKept(kept, response, withAnswer(said, response.output));
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
      response: toKept(kept, queued, messages),
      caller: context.lease.caller,
      work: async (signal) => {
        context.continueWith(signal);
        const response = await made(asked, context, needs);
        await joined(response.body);
        return response;
      },
    });
    return { json: queued, background: ended };
  }
};

/** What a response has become that was made in the background. */
async function made(
  asked: Omit<AskedResponse, "settle">,
  context: RequestContext,
  needs: ResponseNeeds,
): Promise<Pick<KeptResponse, "status" | "conversation"> & { body: ResponseObject }> {
  let said = asked.messages;
  const settle: AskedResponse["settle"] = async (response, messages) => {
    said = messages;
    return response;
  };
  const body = await (await makeResponse({ ...asked, settle }, context, needs)).whole();
  return { status: body.status, body, conversation: withAnswer(said, body.output) };
}

interface KeptParts {
  facts: ResponseFacts;
  conversation: AskedConversation;
  owner: string | undefined;
}

function toKept(
  { facts, conversation, owner }: KeptParts,
  body: ResponseObject,
  said: readonly ChatMessage[],
): KeptResponse {
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
