/** Stored conversations: items that responses continue from, and are added to. */
import type { DocumentCaller } from "../documents/document-caller.ts";
import { NodeError, reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ResponseStore, SavedResponse } from "../ports/response-store.ts";
import { quoted } from "../quoted.ts";
import { Places, Turns } from "../turns.ts";

/** Of any type; the API defines its other fields. */
export interface ConversationItem {
  id: string;
}

export interface Conversation {
  id: string;
  /** Milliseconds of Unix time. */
  createdAt: number;
  metadata: Readonly<Record<string, string>>;
  items: readonly ConversationItem[];
}

export interface ConversationOptions {
  /** Conversations are stored as responses, with the same owners, expiry and limits. */
  store: Pick<ResponseStore, "save" | "replace" | "find" | "delete">;
  isKeeping: boolean;
  log: Log;
}

type Owner = Pick<DocumentCaller, "id">;
type Change = (conversation: Conversation) => Partial<Pick<Conversation, "metadata" | "items">>;

const prefix = "conv_";

/** Each failed try means that another process changed the conversation. */
const mostTries = 50;

export const isConversationId = (id: string): boolean => id.startsWith(prefix);

export class ConversationService {
  readonly #options: ConversationOptions;
  /** Changes in progress in this process, by conversation: many at once would only fail each other's tries. */
  readonly #changing = new Places(1);
  /** What is found is parsed now, and it may have megabytes. */
  readonly #reading = new Turns();

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  async create(
    owner: Owner,
    begun: Pick<Conversation, "metadata" | "items">,
  ): Promise<Conversation> {
    if (!this.#options.isKeeping) {
      const why =
        "This node stores no conversations (responses.keep_for = 0); send the items with each request.";
      throw new NodeError("invalid_request", why);
    }
    const id = `${prefix}${crypto.randomUUID().replaceAll("-", "")}`;
    const conversation = { id, createdAt: Date.now(), ...begun };
    await this.#options.store.save(toSaved(conversation, owner, Date.now()));
    return conversation;
  }

  async get(id: string, owner: Owner, param = "conversation_id"): Promise<Conversation> {
    return (await this.#find(id, owner, param)).conversation;
  }

  async change(id: string, owner: Owner, change: Change): Promise<Conversation> {
    return await this.#changing.run(id, async () => {
      for (let tries = 0; tries < mostTries; tries++) {
        const { conversation, changedAt } = await this.#find(id, owner, "conversation_id");
        const changed = { ...conversation, ...change(conversation) };
        // Later than the last one in any case: the time tells a changed conversation from the one that was read.
        const saved = toSaved(changed, owner, Math.max(Date.now(), changedAt + 1));
        if (await this.#options.store.replace(saved, changedAt)) return changed;
      }
      const why = "Others change this conversation all the time. Try again in a moment.";
      throw new NodeError("unavailable", why);
    });
  }

  /** False, without throwing, if the conversation is gone by now, would become too large or cannot be saved: the answer is returned anyway. */
  async add(id: string, owner: Owner, items: readonly ConversationItem[]): Promise<boolean> {
    try {
      await this.change(id, owner, (before) => ({ items: [...before.items, ...items] }));
      return true;
    } catch (error) {
      const reason = reasonOf(error);
      this.#options.log.warn("a response is not added to its conversation", { id, reason });
      return false;
    }
  }

  async delete(id: string, owner: Owner): Promise<void> {
    const isThere = isConversationId(id) && (await this.#options.store.delete(id, owner.id));
    if (!isThere) throw noSuchConversation(id, "conversation_id");
  }

  async #find(
    id: string,
    owner: Owner,
    param: string,
  ): Promise<{ conversation: Conversation; changedAt: number }> {
    const found =
      isConversationId(id) && this.#options.isKeeping
        ? await this.#options.store.find(id, owner.id)
        : undefined;
    if (found === undefined) throw noSuchConversation(id, param);
    await this.#reading.next(owner.id);
    const { createdAt: changedAt, input: items } = found;
    const { createdAt = changedAt, metadata = {} }: Partial<Conversation> = found.body;
    return { conversation: { id, createdAt, metadata, items }, changedAt };
  }
}

/** Expiry counts from the last change. */
const toSaved = (
  { id, createdAt, metadata, items }: Conversation,
  { id: owner }: Owner,
  changedAt: number,
): SavedResponse => ({
  ...{ id, owner, createdAt: changedAt, status: "completed", isBackground: false },
  ...{ body: { createdAt, metadata }, input: items, conversation: [] },
});

const noSuchConversation = (id: string, param: string): NodeError =>
  new NodeError(
    "no_such_object",
    `Conversation with id ${quoted(id)} not found: it was deleted, its time is over, or it is another key's.`,
    { param },
  );
